#pragma once
// The host executor: work runs at once on the calling thread.

#include <cstdint>
#include <new>

#include <mezzo/core/error.hpp>
#include <mezzo/executor/executor.hpp>

namespace mezzo {

/// Runs everything on the calling thread, in order, before the call returns: the oracle for every other executor.
///
/// Several threads may use host executors at the same time; one object (scaler, optimizer) belongs to one thread at a time.
class HostExecutor {
 public:
  /// `bytes` of memory aligned to 64 bytes; null for 0. @throws OutOfMemory.
  [[nodiscard]] void* allocate(std::size_t bytes, std::source_location where = std::source_location::current()) const {
    if (bytes == 0) return nullptr;
    // Near the end of the range the aligned operator new of some libraries wraps round and gives a tiny block.
    void* const memory = bytes > PTRDIFF_MAX ? nullptr : ::operator new(bytes, alignment, std::nothrow);
    if (memory == nullptr) fail<OutOfMemory>(where, "HostExecutor", "no memory left for ", bytes, " bytes");
    return memory;
  }
  void deallocate(void* pointer, std::size_t) const noexcept { ::operator delete(pointer, alignment); }

  void copy(void* to, const void* from, std::size_t bytes, std::source_location = {}) const noexcept {
    if (bytes != 0) std::memmove(to, from, bytes);
  }
  void fill(void* to, std::byte value, std::size_t bytes, std::source_location = {}) const noexcept {
    if (bytes != 0) std::memset(to, static_cast<int>(value), bytes);
  }
  void wait(std::source_location = {}) const noexcept {}
  [[nodiscard]] bool accessible(const void*) const noexcept { return true; }

 private:
  static constexpr std::align_val_t alignment{64};
};
static_assert(Executor<HostExecutor>);

/// Runs `functor()` once, ordered with the executor's other work: how scalars are computed where the data is.
template <class Functor>
void run_once(const HostExecutor&, Functor functor, std::source_location = {}) {
  functor();
}

/// Runs `functor(i)` for every `i` in `[0, count)`, in any order, ordered with the executor's other work.
template <class Functor>
void for_each_index(const HostExecutor&, std::uint64_t count, Functor functor, std::source_location = {}) {
  for (std::uint64_t i = 0; i < count; ++i) functor(i);
}

}  // namespace mezzo
