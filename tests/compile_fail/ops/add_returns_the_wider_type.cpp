// error: add: y must have the element type that the policy returns
#include <vector>

#include <mezzo/ops/add.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> a(4);
  std::vector<float> b(4);
#ifdef CONTROL
  std::vector<float> y(4);
#else
  std::vector<mezzo::float16> y(4);
#endif
  mezzo::add<Policy>(workspace, a, b, y);
}
