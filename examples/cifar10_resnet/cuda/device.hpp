#pragma once
// A CUDA device as the rest of the program sees it: no CUDA header is needed to train on one.

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../dataset.hpp"
#include "../options.hpp"
#include "../result.hpp"

namespace cifar10 {

/// There is no CUDA device, or none that works. `what()` is one line with CUDA's reason.
class NoDevice : public std::runtime_error {
 public:
  explicit NoDevice(const std::string& reason)
      : std::runtime_error("--device: must be host where there is no CUDA device, got cuda (" + reason + ")") {}
};

/// The current CUDA device, and the one stream on which everything runs. In a build without CUDA there is none: absent.cpp.
class CudaDevice {
 public:
  CudaDevice();   ///< @throws NoDevice
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  /// Trains in one precision, as `run` in run.hpp.
  Result run(Precision precision, bool autocast, const Options& options, const Dataset& training, const Dataset& test, Output& output);

  /// Name, and versions of driver, toolkit and libraries: key and value.
  std::vector<std::pair<std::string, std::string>> describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cifar10
