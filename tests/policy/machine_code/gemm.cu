// A GEMM wrapper: the matrices are handed to the routine for LOW, the float scalar beside them is cast.
#include "variant.hpp"

#ifdef __CUDACC__
__device__ void routine(const LOW* a, const LOW* b, LOW* c, int m, int n, int k, LOW alpha) {  // stands in for a device library
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= m || column >= n) return;
  float sum = 0.f;
  for (int i = 0; i < k; ++i) sum += to_float(a[row * k + i]) * to_float(b[i * n + column]);
  narrow(to_float(alpha) * sum, c[row * n + column]);
}
#else
void routine(const LOW* a, const LOW* b, LOW* c, int m, int n, int k, LOW alpha);
#endif

ENTRY void run(const LOW* a, const LOW* b, LOW* c, int m, int n, int k, float alpha) {
#ifdef HAND
  LOW scale;
  narrow(alpha, scale);
  routine(a, b, c, m, n, k, scale);
#else
  autocast<Policy, op::matmul>([&](const LOW* x, const LOW* y, LOW scale) { routine(x, y, c, m, n, k, scale); }, a, b, alpha * ONE);
#endif
}
