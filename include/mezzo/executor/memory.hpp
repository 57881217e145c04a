#pragma once
// Memory of an executor: one owned block, carved into aligned pieces.

#include <cstddef>
#include <limits>
#include <utility>

#include <mezzo/core/error.hpp>
#include <mezzo/core/span.hpp>
#include <mezzo/executor/executor.hpp>

namespace mezzo {

/// One block of an executor's memory: owned, or lent by the user. Move-only; freed in order with the executor's work.
class Memory {
 public:
  Memory() = default;
  /// Allocates `bytes`, uninitialised. @throws OutOfMemory.
  Memory(const AnyExecutor& executor, std::size_t bytes, std::source_location where = std::source_location::current())
      : executor_(executor), data_(executor.allocate(bytes, where)), bytes_(bytes), owned_(true) {}
  /// Uses memory of the user's, which must outlive this object.
  Memory(const AnyExecutor& executor, Span<std::byte> lent) noexcept
      : executor_(executor), data_(lent.data()), bytes_(lent.size()), owned_(false) {}
  Memory(Memory&& other) noexcept
      : executor_(other.executor_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        owned_(std::exchange(other.owned_, false)) {}
  Memory& operator=(Memory&& other) noexcept {
    Memory moved(std::move(other));
    std::swap(executor_, moved.executor_);
    std::swap(data_, moved.data_);
    std::swap(bytes_, moved.bytes_);
    std::swap(owned_, moved.owned_);
    return *this;
  }
  ~Memory() {
    if (owned_ && data_ != nullptr) executor_.deallocate(data_, bytes_);
  }

  /// Frees on another stream of the same kind of executor from now on.
  void rebind(const AnyExecutor& executor) noexcept { executor_ = executor; }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  AnyExecutor executor_{detail_none()};
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool owned_ = false;

  // An empty block has no executor; this one does nothing and is never called.
  struct None {
    void* allocate(std::size_t, std::source_location) const { return nullptr; }
    void deallocate(void*, std::size_t) const noexcept {}
    void copy(void*, const void*, std::size_t, std::source_location) const {}
    void fill(void*, std::byte, std::size_t, std::source_location) const {}
    void wait(std::source_location) const {}
    bool accessible(const void*) const { return false; }
  };
  static None detail_none() noexcept { return {}; }
};

/// Lays out pieces one after the other. Without memory it only measures, so that the same code tells how large a block
/// must be and then carves it.
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::byte* memory) noexcept : memory_(memory) {}

  /// Offset from which `count` elements of T start, `alignment` plus `phase` bytes; returns the address when there is memory.
  template <class T>
  T* take(std::size_t count, std::size_t alignment = alignof(T), std::size_t phase = 0) {
    const std::size_t start = (used_ + alignment - 1) / alignment * alignment + phase;
    used_ = start + count * sizeof(T);
    return memory_ != nullptr ? reinterpret_cast<T*>(memory_ + start) : nullptr;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return used_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace mezzo
