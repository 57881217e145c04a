// error: batch_norm: x must have the element type that the policy reads
#include <vector>

#include <mezzo/ops/batch_norm.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> x(4);
  std::vector<float> one(1);
#ifdef CONTROL
  std::vector<mezzo::float16> y(4);
#else
  std::vector<float> y(4);
#endif
  mezzo::batch_norm<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .channels = 1}, x, {.gamma = one, .beta = one}, {}, {.mean = one, .inv_std = one}, y);
}
