// error: conv2d: y must have the element type that the policy returns
#include <vector>

#include <mezzo/ops/conv2d.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> x(4), w(1);
#ifdef CONTROL
  std::vector<mezzo::float16> y(4);
#else
  std::vector<float> y(4);
#endif
  mezzo::conv2d<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .in_channels = 1, .out_channels = 1, .kernel = 1}, x, w, y);
}
