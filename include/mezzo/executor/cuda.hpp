#pragma once
// The CUDA executor: work is queued on one stream of the user's.

#include <cstdint>

#include <cuda_runtime_api.h>

#include <mezzo/core/error.hpp>
#include <mezzo/executor/executor.hpp>

namespace mezzo {

namespace detail {

/// Errors that a call only reports: they come from work that was queued earlier, ours or the user's, and stay for good.
inline bool is_asynchronous(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
    case cudaErrorContextIsDestroyed: return true;
    default: return false;
  }
}

/// Takes an error that was dealt with out of the program's last error, where its next check would find it and blame another
/// call. Errors that stay for good are the program's to find.
inline void forget(cudaError_t error) noexcept {
  if (error != cudaSuccess && !is_asynchronous(error)) static_cast<void>(cudaGetLastError());
}

/// Throws unless `error` is success: the call's name, CUDA's text, and whose error it is.
inline void check_cuda(cudaError_t error, const char* call, std::source_location where) {
  if (error == cudaSuccess) return;
  forget(error);
  const char* const text = cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) fail<OutOfMemory>(where, call, text);
  if (is_asynchronous(error)) {
    fail<CudaError>(where, call, "found an error of work queued before this call: ", text, " (", cudaGetErrorName(error), ")");
  }
  fail<CudaError>(where, call, text, " (", cudaGetErrorName(error), ")");
}

/// Whether the device has a context. After a device reset it has none, nothing is left to free there, and the runtime's own
/// queries would make a new one. True where the driver cannot be asked.
inline bool has_context(int device) noexcept {
#if CUDART_VERSION >= 12050
  using Query = int (*)(int, unsigned*, int*);  // cuDevicePrimaryCtxGetState, without linking to the driver
  static const Query query = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &function, 12000, cudaEnableDefault, &found);
    forget(error);
    return error == cudaSuccess ? reinterpret_cast<Query>(function) : nullptr;
  }();
  unsigned flags = 0;
  int active = 0;
  if (query != nullptr) return query(device, &flags, &active) == 0 && active != 0;
#endif
  static_cast<void>(device);
  return true;
}

/// Makes a device current for a scope and gives the caller's back after it.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device, std::source_location where = std::source_location::current()) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice", where);
    if (before_ != device) {
      check_cuda(cudaSetDevice(device), "cudaSetDevice", where);
      changed_ = true;
    }
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard() {
    if (changed_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline constexpr bool per_thread_default_stream = true;
#else
inline constexpr bool per_thread_default_stream = false;
#endif

}  // namespace detail

/// Queues work on a CUDA stream; owns neither stream nor device. The stream must outlive what is built on the executor.
///
/// Every call runs on the device that was recorded at construction and leaves the caller's current device as it was. Errors
/// throw CudaError or OutOfMemory with the name of the call and are not found again by the program's next cudaGetLastError; errors
/// of the user's program that were pending before stay pending (until a call here fails: CUDA keeps one), and a sticky one is
/// reported as found, not as caused, here.
class CudaExecutor {
 public:
  /// @param stream null: the default stream as this translation unit is compiled, legacy or per-thread
  ///               (`--default-stream`). The device is the stream's; for a default stream, and before CUDA 12.8, it is the
  ///               current one.
  /// @throws CudaError when there is no usable device.
  template <bool PerThread = detail::per_thread_default_stream>
  explicit CudaExecutor(cudaStream_t stream, std::source_location where = std::source_location::current())
      // A null handle means another stream in each translation unit; these two mean one everywhere.
      : stream_(stream != nullptr ? stream : (PerThread ? cudaStreamPerThread : cudaStreamLegacy)) {
    detail::check_cuda(cudaGetDevice(&device_), "cudaGetDevice", where);
    static_cast<void>(detail::has_context(device_));  // finds the driver's function while there is a driver
#if CUDART_VERSION >= 12080
    if (stream_ != cudaStreamLegacy && stream_ != cudaStreamPerThread) {
      detail::check_cuda(cudaStreamGetDevice(stream_, &device_), "cudaStreamGetDevice", where);
    }
#endif
  }

  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  [[nodiscard]] int device() const noexcept { return device_; }

  /// Stream-ordered memory, aligned to 256 bytes; null for 0. @throws OutOfMemory.
  [[nodiscard]] void* allocate(std::size_t bytes, std::source_location where = std::source_location::current()) const {
    if (bytes == 0) return nullptr;
    const detail::DeviceGuard guard(device_, where);
    void* memory = nullptr;
    detail::check_cuda(cudaMallocAsync(&memory, bytes, stream_), "cudaMallocAsync", where);
    return memory;
  }
  /// Never throws: after a device reset or at process exit there is nothing left to free, nor a stream to free it on.
  void deallocate(void* pointer, std::size_t) const noexcept {
    if (pointer == nullptr || !detail::has_context(device_) || !owned_by_device(pointer)) return;
    int before = device_;
    detail::forget(cudaGetDevice(&before));
    if (before != device_) detail::forget(cudaSetDevice(device_));
    detail::forget(cudaFreeAsync(pointer, stream_));
    if (before != device_) detail::forget(cudaSetDevice(before));
  }

  void copy(void* to, const void* from, std::size_t bytes, std::source_location where = std::source_location::current()) const {
    if (bytes == 0) return;
    const detail::DeviceGuard guard(device_, where);
    detail::check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync", where);
  }
  void fill(void* to, std::byte value, std::size_t bytes, std::source_location where = std::source_location::current()) const {
    if (bytes == 0) return;
    const detail::DeviceGuard guard(device_, where);
    detail::check_cuda(cudaMemsetAsync(to, static_cast<int>(value), bytes, stream_), "cudaMemsetAsync", where);
  }
  void wait(std::source_location where = std::source_location::current()) const {
    const detail::DeviceGuard guard(device_, where);
    detail::check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize", where);
  }
  /// True for memory of this executor's device, managed memory and pinned host memory.
  [[nodiscard]] bool accessible(const void* pointer) const {
    const cudaPointerAttributes attributes = attributes_of(pointer);
    if (attributes.type == cudaMemoryTypeDevice) return attributes.device == device_;
    return attributes.type == cudaMemoryTypeManaged || attributes.type == cudaMemoryTypeHost;
  }

 private:
  /// Type cudaMemoryTypeUnregistered for a pointer that CUDA does not know, and where CUDA is gone.
  static cudaPointerAttributes attributes_of(const void* pointer) noexcept {
    cudaPointerAttributes attributes{};
    const cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
    detail::forget(error);
    return error == cudaSuccess ? attributes : cudaPointerAttributes{};
  }
  static bool owned_by_device(const void* pointer) noexcept { return attributes_of(pointer).type == cudaMemoryTypeDevice; }

  cudaStream_t stream_ = cudaStreamLegacy;
  int device_ = 0;
};
static_assert(Executor<CudaExecutor>);

}  // namespace mezzo
