// error: batch_norm_relu: x, y, the shortcut and the gradients must have one element type
#include <vector>

#include <mezzo/ops/batch_norm_relu.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> x(4), y(4), dy(4), dx(4), dshortcut(4);
#ifdef CONTROL
  std::vector<mezzo::float16> more(4);
#else
  std::vector<float> more(4);
#endif
  std::vector<float> one(1);
  mezzo::batch_norm_add_relu_backward<Policy>(workspace, {.batch = 1, .height = 2, .width = 2, .channels = 1}, x, y, dy, more, {.gamma = one, .beta = one},
                                              {.mean = one, .inv_std = one}, dx, dshortcut, {.gamma = one, .beta = one});
}
