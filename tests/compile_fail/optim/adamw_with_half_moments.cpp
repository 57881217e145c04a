// error: MasterOptimizer: the moments of this rule must be float. Squares of gradients vanish in float16, and a bfloat16 average with a factor near 1 never moves
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
#ifdef CONTROL
std::uint64_t id(MasterOptimizer<AdamW, float16, Float32Master, float>& optimizer) { return optimizer.id(); }
#else
std::uint64_t id(MasterOptimizer<AdamW, float16, Float32Master, float16>& optimizer) { return optimizer.id(); }
#endif
