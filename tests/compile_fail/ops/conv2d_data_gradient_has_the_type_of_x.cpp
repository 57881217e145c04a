// error: conv2d_data_gradient: dx must have the element type that the policy returns
#include <vector>

#include <mezzo/ops/conv2d.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> w(1), dy(4);
#ifdef CONTROL
  std::vector<mezzo::float16> dx(4);
#else
  std::vector<double> dx(4);
#endif
  mezzo::conv2d_data_gradient<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .in_channels = 1, .out_channels = 1, .kernel = 1}, dy, w, dx);
}
