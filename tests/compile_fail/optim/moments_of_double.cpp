// error: MasterOptimizer: moments must be float, float16 or bfloat16
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
#ifdef CONTROL
std::uint64_t id(MasterOptimizer<Sgd, float16, Float32Master, bfloat16>& optimizer) { return optimizer.id(); }
#else
std::uint64_t id(MasterOptimizer<Sgd, float16, Float32Master, double>& optimizer) { return optimizer.id(); }
#endif
