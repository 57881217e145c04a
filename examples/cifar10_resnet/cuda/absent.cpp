// The CUDA device of a build without CUDA: there is none.

#include "device.hpp"

namespace cifar10 {

struct CudaDevice::State {};

CudaDevice::CudaDevice() { throw NoDevice("this build has no CUDA back end"); }
CudaDevice::~CudaDevice() = default;

// Without an object nobody calls these.
Result CudaDevice::run(Precision, bool, const Options&, const Dataset&, const Dataset&, Output&) { return {}; }
std::vector<std::pair<std::string, std::string>> CudaDevice::describe() const { return {}; }

}  // namespace cifar10
