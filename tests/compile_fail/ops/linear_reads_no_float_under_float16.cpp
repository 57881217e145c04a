// error: linear: under this policy x and w must have another element type
#include <vector>

#include <mezzo/ops/linear.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> w(4), y(4);
  std::vector<float> bias(2);
#ifdef CONTROL
  std::vector<mezzo::float16> x(4);
#else
  std::vector<float> x(4);
#endif
  mezzo::linear<Policy>(workspace, {.batch = 2, .in_features = 2, .out_features = 2}, x, w, bias, y);
}
