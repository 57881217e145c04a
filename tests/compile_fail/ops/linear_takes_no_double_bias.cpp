// error: linear: bias must have the element type of x, or float
#include <vector>

#include <mezzo/ops/linear.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> x(4), w(4), y(4);
#ifdef CONTROL
  std::vector<float> bias(2);
#else
  std::vector<double> bias(2);
#endif
  mezzo::linear<Policy>(workspace, {.batch = 2, .in_features = 2, .out_features = 2}, x, w, bias, y);
}
