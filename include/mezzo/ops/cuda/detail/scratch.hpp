#pragma once
// Scratch memory that back ends cut into pieces.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mezzo::detail::device {

/// A stretch of scratch from an address aligned to 256 bytes on, as cuBLAS and cuDNN want it. Pieces are taken off its front.
struct Scratch {
  static constexpr std::size_t alignment = 256;
  std::byte* memory = nullptr;
  std::size_t bytes = 0;

  Scratch() = default;
  Scratch(std::byte* from, std::size_t available) {
    const std::size_t skip = (alignment - reinterpret_cast<std::uintptr_t>(from) % alignment) % alignment;
    if (from == nullptr || available <= skip) return;
    memory = from + skip;
    bytes = available - skip;
  }

  static constexpr std::size_t rounded_up(std::size_t size) { return (size + alignment - 1) / alignment * alignment; }

  /// A piece of `size` bytes, so that the rest is aligned again; none, and nothing taken, where there are not so many.
  [[nodiscard]] Scratch take(std::size_t size) {
    if (size > bytes) return {};
    const Scratch piece(memory, size);
    const std::size_t taken = (std::min)(rounded_up(size), bytes);
    memory += taken;
    bytes -= taken;
    return piece;
  }
};

}  // namespace mezzo::detail::device
