// error: relu: y must have the element type that the policy returns
#include <vector>

#include <mezzo/ops/relu.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> x(4);
#ifdef CONTROL
  std::vector<mezzo::float16> y(4);
#else
  std::vector<float> y(4);
#endif
  mezzo::relu<Policy>(workspace, x, y);
}
