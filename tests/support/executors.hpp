#pragma once
// The executors that a test runs on, and buffers in their memory. A test that includes this file is compiled twice: by the
// host compiler, where the list is HostExecutor, and by nvcc, where CudaExecutor is on it too.

#include <algorithm>
#include <concepts>
#include <cstring>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include "support/skip.hpp"

#ifdef __CUDACC__
#include <mezzo/mezzo.cuh>
#define MEZZO_TEST_EXECUTORS mezzo::HostExecutor, mezzo::CudaExecutor
#else
#include <mezzo/mezzo.hpp>
#define MEZZO_TEST_EXECUTORS mezzo::HostExecutor
#endif

namespace mezzo::test {

/// An executor of the type under test; for CUDA the legacy default stream of device 0.
template <Executor E>
E make_executor() {
#ifdef __CUDACC__
  if constexpr (std::same_as<E, CudaExecutor>) return CudaExecutor{cudaStream_t{nullptr}};
  else
#endif
    return E{};
}

/// Whether work can run on executors of this type here.
template <Executor E>
bool available() {
#ifdef __CUDACC__
  int devices = 0;
  if constexpr (std::same_as<E, CudaExecutor>) return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
#endif
  return true;
}

/// Declares `name`, an executor of type `E`; the test case is skipped where there is no device for it.
#define MEZZO_TEST_EXECUTOR(E, name)                             \
  if (!::mezzo::test::available<E>()) MEZZO_SKIP("no GPU here"); \
  const E name = ::mezzo::test::make_executor<E>()

/// [n] elements in an executor's memory, `offset` elements into its alignment, with guard elements around that must stay
/// as they are. Reads and writes from the host wait.
template <class T>
class Buffer {
 public:
  template <Executor E>
  Buffer(const E& executor, std::vector<T> values, std::size_t offset = 0)
      : executor_(executor), size_(values.size()), offset_(offset + guard), memory_(executor_, (values.size() + offset + 2 * guard) * sizeof(T)) {
    executor_.fill(memory_.data(), pattern, memory_.size());
    write(values);
  }
  template <Executor E>
  Buffer(const E& executor, std::size_t size) : Buffer(executor, std::vector<T>(size)) {}

  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()) + offset_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Span<T> span() const noexcept { return {data(), size_}; }

  void write(const std::vector<T>& values) {
    REQUIRE(values.size() == size_);
    if (size_ != 0) executor_.copy(data(), values.data(), size_ * sizeof(T));
    executor_.wait();
  }
  /// The elements; fails the test when a guard element was written.
  [[nodiscard]] std::vector<T> read() const {
    std::vector<std::byte> all(memory_.size());
    executor_.copy(all.data(), memory_.data(), all.size());
    executor_.wait();
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(offset_ * sizeof(T));
    const auto last = first + static_cast<std::ptrdiff_t>(size_ * sizeof(T));
    const auto untouched = [](std::byte b) { return b == pattern; };
    CHECK_MESSAGE(std::all_of(all.begin(), first, untouched), "bytes before the span were written");
    CHECK_MESSAGE(std::all_of(last, all.end(), untouched), "bytes after the span were written");
    std::vector<T> values(size_);
    if (size_ != 0) std::memcpy(values.data(), &*first, size_ * sizeof(T));
    return values;
  }

 private:
  static constexpr std::size_t guard = 64;  // elements: keeps 16-byte alignment for every element type
  static constexpr std::byte pattern{0xa5};
  AnyExecutor executor_;
  std::size_t size_;
  std::size_t offset_;
  Memory memory_;
};

/// The bits of every element, for comparisons that must be exact.
template <Element T>
std::vector<typename element_traits<T>::bits_type> bits_of(const std::vector<T>& values) {
  std::vector<typename element_traits<T>::bits_type> bits;
  bits.reserve(values.size());
  for (const T value : values) bits.push_back(to_bits(value));
  return bits;
}

}  // namespace mezzo::test
