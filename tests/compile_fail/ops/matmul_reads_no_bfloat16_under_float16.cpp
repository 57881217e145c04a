// error: matmul: under this policy a and b must have another element type
#include <vector>

#include <mezzo/ops/gemm.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> b(4), c(4);
#ifdef CONTROL
  std::vector<mezzo::float16> a(4);
#else
  std::vector<mezzo::bfloat16> a(4);
#endif
  mezzo::matmul<Policy>(workspace, {.m = 2, .n = 2, .k = 2}, a, b, c);
}
