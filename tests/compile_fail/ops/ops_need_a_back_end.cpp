// error: ops: no back end runs this op on this executor
#include <vector>

#include <mezzo/ops/relu.hpp>

struct Elsewhere : mezzo::HostExecutor {};

#ifdef CONTROL
using Where = mezzo::HostExecutor;
#else
using Where = Elsewhere;
#endif

void call(mezzo::Workspace<Where>& workspace, std::vector<float>& x) { mezzo::relu<mezzo::Autocast<float>>(workspace, x, x); }
