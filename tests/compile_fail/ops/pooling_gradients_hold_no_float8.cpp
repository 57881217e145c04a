// error: pooling: gradients must hold element types
#include <vector>

#include <mezzo/ops/pooling.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
#ifdef CONTROL
  std::vector<mezzo::float16> dy(1), dx(4);
#else
  std::vector<mezzo::float8_e4m3> dy(1), dx(4);
#endif
  mezzo::global_avg_pool2d_backward<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .channels = 1}, dy, dx);
}
