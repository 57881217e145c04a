#pragma once
// What kernels of cuDNN are tried on before one is chosen: operands, events, and a count of what is not finite.

#include <cstddef>
#include <cstdint>
#include <source_location>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/executor/memory.hpp>
#include <mezzo/numeric/finite.hpp>
#include <mezzo/numeric/traits.hpp>

namespace mezzo::detail::cudnn {

/// Values to time kernels on: on zeros they run faster than on a network's data. Any 16-bit pattern with this mask is a
/// float16, bfloat16 or half of a float of a moderate size, of either sign.
struct FillForTiming {
  std::uint16_t* to;
  __device__ void operator()(std::uint64_t i) const {
    const std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15ULL;
    to[i] = static_cast<std::uint16_t>((mixed >> 40 & 0x83ffU) | 0x3800U);
  }
};

/// The same element everywhere: two of 16 bits, or one of 32, in `pattern`.
struct FillPattern {
  std::uint16_t* to;
  std::uint32_t pattern;
  __device__ void operator()(std::uint64_t i) const { to[i] = static_cast<std::uint16_t>(i % 2 == 0 ? pattern : pattern >> 16); }
};

template <class T>
struct CountNonfinite {
  const T* from;
  unsigned long long* count;
  __device__ void operator()(std::uint64_t i) const {
    if (!is_finite(from[i])) atomicAdd(count, 1ULL);
  }
};

/// Memory and events to try kernels with.
struct Trial {
  Trial(const CudaExecutor& executor, std::size_t first_bytes, std::size_t second_bytes, std::size_t out_bytes,
        std::size_t scratch_bytes, const std::source_location& where)
      : first(executor, first_bytes, where),
        second(executor, second_bytes, where),
        out(executor, out_bytes, where),
        scratch(executor, scratch_bytes, where),
        count(executor, sizeof(unsigned long long), where) {
    check_cuda(cudaEventCreate(&begin), "cudaEventCreate", where);
    if (const cudaError_t error = cudaEventCreate(&end); error != cudaSuccess) {
      static_cast<void>(cudaEventDestroy(begin));
      check_cuda(error, "cudaEventCreate", where);
    }
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    static_cast<void>(cudaEventDestroy(begin));
    static_cast<void>(cudaEventDestroy(end));
  }

  static void fill_for_timing(const CudaExecutor& executor, const Memory& memory, const std::source_location& where) {
    for_each_index(executor, memory.size() / 2, FillForTiming{reinterpret_cast<std::uint16_t*>(memory.data())}, where);
  }
  void fill_for_timing(const CudaExecutor& executor, const std::source_location& where) const {
    fill_for_timing(executor, first, where);
    fill_for_timing(executor, second, where);
  }
  static void fill(const CudaExecutor& executor, const Memory& memory, std::uint32_t pattern, const std::source_location& where) {
    for_each_index(executor, memory.size() / 2, FillPattern{reinterpret_cast<std::uint16_t*>(memory.data()), pattern}, where);
  }

  /// Results that are not finite. Waits.
  [[nodiscard]] std::uint64_t nonfinite(const CudaExecutor& executor, ElementType type, const std::source_location& where) const {
    auto* const counter = reinterpret_cast<unsigned long long*>(count.data());
    executor.fill(counter, std::byte{0}, sizeof(*counter), where);
    const auto add_up = [&]<class T>(T) {
      for_each_index(executor, out.size() / sizeof(T), CountNonfinite<T>{reinterpret_cast<const T*>(out.data()), counter}, where);
    };
    if (type == ElementType::f16) add_up(float16{});
    if (type == ElementType::bf16) add_up(bfloat16{});
    if (type == ElementType::f32) add_up(float{});
    unsigned long long result = 0;
    executor.copy(&result, counter, sizeof(result), where);
    executor.wait(where);
    return result;
  }

  void start(const CudaExecutor& executor, const std::source_location& where) const {
    check_cuda(cudaEventRecord(begin, executor.stream()), "cudaEventRecord", where);
  }
  [[nodiscard]] float stop(const CudaExecutor& executor, const std::source_location& where) const {
    float milliseconds = 0;
    check_cuda(cudaEventRecord(end, executor.stream()), "cudaEventRecord", where);
    check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize", where);
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime", where);
    return milliseconds;
  }

  Memory first, second, out, scratch, count;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
};

}  // namespace mezzo::detail::cudnn
