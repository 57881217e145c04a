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

/// Memory and events to try kernels with. `ready` is false where the device has not so much memory left.
struct Trial {
  Trial(const CudaExecutor& on, std::size_t first_bytes, std::size_t second_bytes, std::size_t out_bytes,
        std::size_t scratch_bytes, const std::source_location& where)
      : Trial(on) {
    const auto carve = [&](Arena& arena) {
      const auto take = [&](std::size_t bytes) { return Span<std::byte>(arena.take<std::byte>(bytes, 256), bytes); };
      first = take(first_bytes), second = take(second_bytes), out = take(out_bytes), scratch = take(scratch_bytes);
      count = arena.take<unsigned long long>(1);
    };
    Arena measure;
    carve(measure);
    block_bytes = measure.bytes();
    const DeviceGuard guard(executor.device(), where);
    const cudaError_t error = cudaMallocAsync(&block, block_bytes, executor.stream());
    if (error == cudaErrorMemoryAllocation) {
      forget(error);
      return;
    }
    check_cuda(error, "cudaMallocAsync", where);
    Arena arena(static_cast<std::byte*>(block));
    carve(arena);
    check_cuda(cudaEventCreate(&begin), "cudaEventCreate", where);
    check_cuda(cudaEventCreate(&end), "cudaEventCreate", where);
    ready = true;
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (begin != nullptr) static_cast<void>(cudaEventDestroy(begin));
    if (end != nullptr) static_cast<void>(cudaEventDestroy(end));
    executor.deallocate(block, block_bytes);
  }

  void fill_for_timing(const Span<std::byte>& memory, const std::source_location& where) const {
    for_each_index(executor, memory.size() / 2, FillForTiming{reinterpret_cast<std::uint16_t*>(memory.data())}, where);
  }
  void fill_for_timing(const std::source_location& where) const {
    fill_for_timing(first, where);
    fill_for_timing(second, where);
  }
  void fill(const Span<std::byte>& memory, std::uint32_t pattern, const std::source_location& where) const {
    for_each_index(executor, memory.size() / 2, FillPattern{reinterpret_cast<std::uint16_t*>(memory.data()), pattern}, where);
  }

  /// Results that are not finite. Waits.
  [[nodiscard]] std::uint64_t nonfinite(ElementType type, const std::source_location& where) const {
    executor.fill(count, std::byte{0}, sizeof(*count), where);
    const auto add_up = [&]<class T>(T) {
      for_each_index(executor, out.size() / sizeof(T), CountNonfinite<T>{reinterpret_cast<const T*>(out.data()), count}, where);
    };
    if (type == ElementType::f16) add_up(float16{});
    if (type == ElementType::bf16) add_up(bfloat16{});
    if (type == ElementType::f32) add_up(float{});
    unsigned long long result = 0;
    executor.copy(&result, count, sizeof(result), where);
    executor.wait(where);
    return result;
  }

  void start(const std::source_location& where) const {
    check_cuda(cudaEventRecord(begin, executor.stream()), "cudaEventRecord", where);
  }
  [[nodiscard]] float stop(const std::source_location& where) const {
    float milliseconds = 0;
    check_cuda(cudaEventRecord(end, executor.stream()), "cudaEventRecord", where);
    check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize", where);
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime", where);
    return milliseconds;
  }

  const CudaExecutor& executor;
  Span<std::byte> first, second, out, scratch;
  unsigned long long* count = nullptr;
  void* block = nullptr;  // of all these
  std::size_t block_bytes = 0;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  bool ready = false;

 private:
  explicit Trial(const CudaExecutor& on) : executor(on) {}  // from here on the destructor gives back what there is
};

}  // namespace mezzo::detail::cudnn
