// The first lines of a user's program: a training step with a scaled loss and float32 master weights, on the host.
#include <mezzo/mezzo.hpp>

#include <cstdio>
#include <vector>

int main() {
  using namespace mezzo;
  const HostExecutor executor;
  DynamicLossScaler<LossScaleConfig{.init_scale = 1024.f}> scaler{executor};

  std::vector<float16> weights(3, convert<float16>(2.f));
  std::vector<float16> gradients(3, convert<float16>(1024.f * .5f));
  MasterOptimizer<Sgd, float16> optimizer{executor, {{weights, gradients}}, Sgd::Options{.lr = 1.f}};
  scaler.step(optimizer);
  scaler.update();

  const float weight = convert<float>(weights[0]);
  std::printf("weight %g, scale %g\n", static_cast<double>(weight), static_cast<double>(scaler.state().scale));
  return weight == 1.5f ? 0 : 1;
}
