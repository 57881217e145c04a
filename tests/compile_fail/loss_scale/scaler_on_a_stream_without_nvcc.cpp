// error: this translation unit cannot launch work on the executor. Construct on a CudaExecutor in a .cu file
#include <mezzo/executor/cuda.hpp>
#include <mezzo/executor/host.hpp>
#include <mezzo/loss_scale/dynamic.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<>* make(const HostExecutor& executor) { return new DynamicLossScaler<>(executor); }
#else
DynamicLossScaler<>* make(const CudaExecutor& executor) { return new DynamicLossScaler<>(executor); }
#endif
