#pragma once
// What ops need besides their operands: scratch memory, and whatever a back end keeps between calls.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include <mezzo/core/error.hpp>
#include <mezzo/core/span.hpp>
#include <mezzo/executor/executor.hpp>
#include <mezzo/executor/memory.hpp>

namespace mezzo {

/// Scratch memory, library handles and plans for the ops of one executor.
///
///     Workspace workspace{executor, conv2d_workspace_bytes<float16>(executor, shape)};
///     conv2d<Policy>(workspace, shape, x, w, y);
///
/// The scratch is allocated here, once. Handles, plans and counters are made by the prepare functions of the ops; after those
/// no op waits or allocates. An op that was not prepared makes them at its first call, which allocates and may wait, and throws
/// StateError while the stream is being captured in a graph.
///
/// One workspace serves any number of ops one after the other: size it for the largest. Its contents mean nothing between
/// calls. It belongs to the executor's stream, and to one host thread at a time. Move-only.
template <Executor Where>
class Workspace {
 public:
  static constexpr std::size_t alignment = 64;  ///< of scratch, in bytes

  /// Allocates `bytes` of the executor's memory; 0 suits ops that need no scratch. @throws OutOfMemory.
  Workspace(const Where& executor, std::size_t bytes, std::source_location where = std::source_location::current())
      : executor_(executor), memory_(executor, bytes, where) {}
  /// Uses the caller's memory, which must outlive the work queued with it. No operand of
  /// an op may lie in it. @throws InvalidArgument where it is null or not aligned to `alignment` bytes; empty memory may stand
  /// anywhere.
  Workspace(const Where& executor, Span<std::byte> memory, std::source_location where = std::source_location::current())
      : executor_(executor), memory_(executor, memory) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (memory.size() != 0 && memory.data() == nullptr) {
      fail<InvalidArgument>(where, "Workspace", "lent memory of ", memory.size(), " bytes must not be null");
    }
    require(memory.size() == 0 || address % alignment == 0, where, "Workspace", "lent memory must be aligned to 64 bytes",
            address & (~address + 1));
  }

  Workspace(Workspace&&) noexcept = default;
  Workspace& operator=(Workspace&&) noexcept = default;
  Workspace(const Workspace&) = delete;  // two owners would use one scratch at the same time
  Workspace& operator=(const Workspace&) = delete;

  [[nodiscard]] const Where& executor() const noexcept { return executor_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.size(); }

  /// The scratch of an op that needs `needed` bytes. For back ends.
  /// @throws InvalidArgument naming the op, the bytes it needs and the bytes there are.
  [[nodiscard]] std::byte* scratch(std::size_t needed, std::string_view op, const std::source_location& where) const {
    if (needed > memory_.size()) {
      fail<InvalidArgument>(where, op, "the workspace is too small: this shape needs ", needed, " bytes, got ", memory_.size());
    }
    return memory_.data();
  }

  /// The one `State` of this workspace, made from `arguments` at the first call: a back end's handles and plans, which
  /// thus live as long as the workspace. For back ends; the first call belongs into `prepare`.
  template <class State, class... Arguments>
  [[nodiscard]] State& kept(Arguments&&... arguments) {
    static constexpr char key = 0;
    for (auto& entry : kept_) {
      if (entry.key == &key) return *static_cast<State*>(entry.state.get());
    }
    kept_.push_back({&key, {new State(std::forward<Arguments>(arguments)...), [](void* state) { delete static_cast<State*>(state); }}});
    return *static_cast<State*>(kept_.back().state.get());
  }

 private:
  struct Kept {
    const void* key;
    std::unique_ptr<void, void (*)(void*)> state;
  };
  Where executor_;
  Memory memory_;
  std::vector<Kept> kept_;
};

}  // namespace mezzo
