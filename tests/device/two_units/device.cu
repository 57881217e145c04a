// The half that nvcc compiles: it constructs, and knows nothing of training.
#include <mezzo/mezzo.cuh>

#include "training.hpp"

namespace two_units {

Device open_device() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return {};
  Device device{.there = true, .stream = nullptr};
  if (cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking) != cudaSuccess) return {};
  return device;
}

Scaler make_scaler(cudaStream_t stream) { return Scaler{mezzo::CudaExecutor{stream}}; }

Optimizer make_optimizer(cudaStream_t stream, const std::vector<Optimizer::Parameter>& parameters, const mezzo::AdamW::Options& options) {
  return Optimizer{mezzo::CudaExecutor{stream}, parameters, options};
}

float scale_seen_by_nvcc(const Scaler& scaler) { return scaler.state().scale; }

}  // namespace two_units
