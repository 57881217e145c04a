#include "device.hpp"

#include "train.cuh"

namespace cifar10 {

extern CIFAR10_TRAIN(Autocast<float>, float);
extern CIFAR10_TRAIN(Autocast<float>::disabled, float);
extern CIFAR10_TRAIN(Autocast<mezzo::float16>, mezzo::float16);
extern CIFAR10_TRAIN(Autocast<mezzo::float16>, float);
extern CIFAR10_TRAIN(Autocast<mezzo::bfloat16>, mezzo::bfloat16);
extern CIFAR10_TRAIN(Autocast<mezzo::bfloat16>, float);

struct CudaDevice::State {
  cudaStream_t stream = nullptr;
  ~State() {
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  }
};

CudaDevice::CudaDevice() : state_(std::make_unique<State>()) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&state_->stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) throw NoDevice(cudaGetErrorString(error));
}
CudaDevice::~CudaDevice() = default;

Result CudaDevice::run(Precision precision, bool autocast, const Options& options, const Dataset& training, const Dataset& test,
                       Output& output) {
  return cifar10::run(mezzo::CudaExecutor(state_->stream), precision, autocast, options, training, test, output);
}

std::vector<std::pair<std::string, std::string>> CudaDevice::describe() const {
  const auto version = [](std::size_t number, std::size_t major, std::size_t minor) {
    return std::to_string(number / major) + "." + std::to_string(number % major / minor);
  };
  cudaDeviceProp properties{};
  int device = 0, driver = 0, runtime = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::vector<std::pair<std::string, std::string>> lines{{"name", properties.name},
                                                         {"memory_bytes", std::to_string(properties.totalGlobalMem)},
                                                         {"driver_supports_cuda", version(static_cast<std::size_t>(driver), 1000, 10)},
                                                         {"cuda", version(static_cast<std::size_t>(runtime), 1000, 10)}};
#if defined(MEZZO_HAS_CUDNN) && MEZZO_HAS_CUDNN
  lines.push_back({"cudnn", version(cudnnGetVersion(), 10000, 100)});
#else
  lines.push_back({"cudnn", "not used"});
#endif
  return lines;
}

}  // namespace cifar10
