// error: pooling: x must have the element type that the policy reads
#include <vector>

#include <mezzo/ops/pooling.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> x(4);
#ifdef CONTROL
  std::vector<mezzo::float16> y(1);
#else
  std::vector<float> y(1);
#endif
  mezzo::max_pool2d<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .channels = 1}, x, y);
}
