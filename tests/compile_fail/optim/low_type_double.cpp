// error: MasterOptimizer: the low type must be float16, bfloat16 or float. Double parameters need no master weights, and an 8-bit type cannot be converted to without a scale
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
#ifdef CONTROL
std::uint64_t id(MasterOptimizer<Sgd, bfloat16>& optimizer) { return optimizer.id(); }
#else
std::uint64_t id(MasterOptimizer<Sgd, double>& optimizer) { return optimizer.id(); }
#endif
