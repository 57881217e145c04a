#pragma once
// Launching on a CUDA executor.

#include <algorithm>
#include <utility>

#include <cuda_runtime.h>

#include <mezzo/executor/cuda.hpp>

namespace mezzo {

namespace detail {

/// Launches `kernel` on the executor's stream and device; an error names `name`. Nothing is read from, or left in, the
/// program's last error by a launch that succeeds.
template <class... Parameters, class... Arguments>
void launch(const CudaExecutor& executor, const char* name, void (*kernel)(Parameters...), std::uint32_t blocks,
            std::uint32_t threads, std::source_location where, Arguments&&... arguments) {
  const DeviceGuard guard(executor.device(), where);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = executor.stream();
  check_cuda(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name, where);
}

/// Multiprocessors of the executor's device.
inline std::uint32_t multiprocessors(const CudaExecutor& executor, std::source_location where) {
  int count = 0;
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, executor.device()), "cudaDeviceGetAttribute", where);
  return static_cast<std::uint32_t>(count);
}

template <class Functor>
__global__ void run_once_kernel(const __grid_constant__ Functor functor) {
  functor();
}

template <class Functor>
__global__ void __launch_bounds__(256) for_each_index_kernel(const __grid_constant__ Functor functor, std::uint64_t count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) functor(i);
}

/// As for_each_index; an error names `name`.
template <class Functor>
void launch_for_each_index(const CudaExecutor& executor, const char* name, std::uint64_t count, const Functor& functor,
                           std::source_location where) {
  if (count == 0) return;
  constexpr std::uint32_t threads = 256;
  const std::uint64_t wanted = (count + threads - 1) / threads;
  const std::uint64_t most = std::uint64_t{multiprocessors(executor, where)} * 32;
  launch(executor, name, &for_each_index_kernel<Functor>, static_cast<std::uint32_t>((std::min)(wanted, most)), threads, where, functor, count);
}

}  // namespace detail

/// Queues one call of `functor()` on one thread of the device. Does not wait; may be captured.
template <class Functor>
void run_once(const CudaExecutor& executor, const Functor& functor, std::source_location where = std::source_location::current()) {
  static_assert(std::is_trivially_copyable_v<Functor>, "run_once: the functor is copied to the device byte by byte and must be trivially copyable (executor/cuda.cuh).");
  detail::launch(executor, "run_once", &detail::run_once_kernel<Functor>, 1, 1, where, functor);
}

/// Queues `functor(i)` for every `i` in `[0, count)`. Does not wait; may be captured.
template <class Functor>
void for_each_index(const CudaExecutor& executor, std::uint64_t count, const Functor& functor,
                    std::source_location where = std::source_location::current()) {
  static_assert(std::is_trivially_copyable_v<Functor>, "for_each_index: the functor is copied to the device byte by byte and must be trivially copyable (executor/cuda.cuh).");
  detail::launch_for_each_index(executor, "for_each_index", count, functor, where);
}

}  // namespace mezzo
