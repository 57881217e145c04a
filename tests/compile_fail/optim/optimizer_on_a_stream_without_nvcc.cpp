// error: this translation unit cannot launch work on the executor. Construct on a CudaExecutor in a .cu file
#include <mezzo/executor/cuda.hpp>
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
#ifdef CONTROL
MasterOptimizer<Sgd, float16>* make(const HostExecutor& executor) { return new MasterOptimizer<Sgd, float16>(executor, {}); }
#else
MasterOptimizer<Sgd, float16>* make(const CudaExecutor& executor) { return new MasterOptimizer<Sgd, float16>(executor, {}); }
#endif
