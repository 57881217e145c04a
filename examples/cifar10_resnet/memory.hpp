#pragma once
// The memory of a training run, taken from one place and counted by what it is for.

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <vector>

#include <mezzo/core/span.hpp>
#include <mezzo/executor/executor.hpp>
#include <mezzo/executor/memory.hpp>

namespace cifar10 {

/// What memory is for; one line of the table each.
enum class Use {
  weights,                ///< the model's own: low type where the policy says so, batch norm and bias in float
  gradients,              ///< of the weights
  optimizer,              ///< masters, momentum and what the optimizer keeps beside them
  activations,            ///< kept from forward to backward
  activation_gradients,   ///< live during backward only
  workspace               ///< scratch of the operations
};
inline constexpr std::array all_uses{Use::weights,     Use::gradients,            Use::optimizer,
                                     Use::activations, Use::activation_gradients, Use::workspace};

inline const char* name_of(Use use) {
  constexpr const char* names[] = {"weights",     "gradients",            "optimizer state",
                                   "activations", "activation gradients", "workspace"};
  return names[static_cast<int>(use)];
}

/// Exact byte counts by use.
struct Bytes {
  std::array<std::uint64_t, all_uses.size()> counts{};
  std::uint64_t& operator[](Use use) { return counts[static_cast<std::size_t>(use)]; }
  std::uint64_t operator[](Use use) const { return counts[static_cast<std::size_t>(use)]; }
  bool operator==(const Bytes&) const = default;
};

/// Hands out spans of an executor's memory, filled with zeros, and counts their bytes. Owns them all until it ends.
class Storage {
 public:
  explicit Storage(const mezzo::AnyExecutor& executor) : executor_(executor) {}

  /// @throws mezzo::OutOfMemory
  template <class T>
  mezzo::Span<T> take(Use use, std::size_t count, std::source_location where = std::source_location::current()) {
    const std::size_t bytes = count * sizeof(T);
    const mezzo::Memory& block = blocks_.emplace_back(executor_, bytes, where);
    executor_.fill(block.data(), std::byte{0}, bytes);
    bytes_[use] += bytes;
    return {reinterpret_cast<T*>(block.data()), count};
  }

  /// Counts memory that somebody else owns.
  void count(Use use, std::size_t bytes) { bytes_[use] += bytes; }

  const Bytes& bytes() const noexcept { return bytes_; }
  const mezzo::AnyExecutor& executor() const noexcept { return executor_; }

 private:
  mezzo::AnyExecutor executor_;
  std::vector<mezzo::Memory> blocks_;
  Bytes bytes_;
};

}  // namespace cifar10
