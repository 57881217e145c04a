// error: conv2d_weight_gradient: dw must have the element type that the policy returns
#include <vector>

#include <mezzo/ops/conv2d.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> x(4), dy(4);
#ifdef CONTROL
  std::vector<float> dw(1);
#else
  std::vector<mezzo::bfloat16> dw(1);
#endif
  mezzo::conv2d_weight_gradient<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .in_channels = 1, .out_channels = 1, .kernel = 1}, x, dy, dw);
}
