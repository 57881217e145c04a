// error: use of deleted function
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
#ifdef CONTROL
void take(MasterOptimizer<Sgd, float16>& a) { MasterOptimizer<Sgd, float16> b(static_cast<MasterOptimizer<Sgd, float16>&&>(a)); }
#else
void take(MasterOptimizer<Sgd, float16>& a) { MasterOptimizer<Sgd, float16> b(a); }
#endif
