// error: Parameter: a temporary container is gone before the first step. Pass a container that outlives the optimizer, or a span of its elements
#include <array>
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
void make(const HostExecutor& executor, std::vector<float16>& gradients) {
#ifdef CONTROL
  std::vector<float16> weights(8);
  MasterOptimizer<Sgd, float16> optimizer{executor, {{weights, gradients}}};
#else
  MasterOptimizer<Sgd, float16> optimizer{executor, {{std::vector<float16>(8), gradients}}};
#endif
}
