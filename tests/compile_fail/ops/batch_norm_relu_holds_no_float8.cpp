// error: batch_norm_relu: operands must hold element types
#include <vector>

#include <mezzo/ops/batch_norm_relu.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
#ifdef CONTROL
  std::vector<mezzo::float16> x(4), y(4);
#else
  std::vector<mezzo::float8_e4m3> x(4), y(4);
#endif
  std::vector<float> one(1);
  mezzo::batch_norm_relu<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .channels = 1}, x, {.gamma = one, .beta = one}, {}, {.mean = one, .inv_std = one}, y);
}
