// The program of the README: fits float16 weights to a target, with dynamic loss scaling and float32 master weights.
//
// examples/cifar10_resnet is a whole program, on the host and on a GPU.

#include <cstdio>
#include <vector>

// [readme]
#include <mezzo/mezzo.hpp>
using namespace mezzo;

using Policy = Autocast<float16>;  // which ops run in half is a type; this one has the op lists of torch.amp
static_assert(std::is_same_v<compute_type_t<Policy, op::linear, float, float>, float16>);
static_assert(std::is_same_v<compute_type_t<Policy, op::mse_loss, float16, float>, float>);

int main() {
  std::vector<float16> weights(1000), gradients(1000);         // the model, in your memory
  HostExecutor executor;                                       // on a GPU: CudaExecutor executor{stream};
  DynamicLossScaler<> scaler{executor};                        // 2^16; halves on overflow, doubles after 2000 clean steps
  MasterOptimizer<AdamW, float16> optimizer{executor, {{weights, gradients}}, AdamW::Options{.lr = .05f}};

  for (int step = 0; step < 200; ++step) {
    const float scale = scaler.device_view().scale();          // your backward pass starts from a scaled gradient
    for (int i = 0; i < 1000; ++i)
      gradients[i] = convert<float16>(scale * (convert<float>(weights[i]) - 1e-3f * static_cast<float>(i)) / 1000.f);
    clip_grad_norm(scaler, optimizer, 1.f);                    // of the unscaled gradients
    scaler.step(optimizer);                                    // one check, one update; skipped if a gradient overflowed
    scaler.update();                                           // nothing here waits for the device
  }
  std::printf("w[500] = %.4f, scale %g, %d steps skipped\n", convert<float>(weights[500]), scaler.state().scale,
              static_cast<int>(scaler.state().skipped_steps));
}
// [readme]
