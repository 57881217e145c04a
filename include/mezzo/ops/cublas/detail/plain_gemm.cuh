#pragma once
// Matrix products that cuBLASLt has no kernel for: mixed operand types, or no scratch to round
// a 16-bit result once in. Simple and right, not fast.

#include <cstdint>
#include <source_location>
#include <string_view>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::cublas {

inline constexpr std::int64_t plain_tile = 16;

template <class A, class B, class Bias, class C, class Real>
struct PlainOperands {
  GemmShape shape;
  const A* a;
  const B* b;
  const Bias* bias;  ///< [n] or null
  C* c;
  bool add;
};

/// A block computes a tile of C, a thread one element; operands pass through shared memory.
template <class A, class B, class Bias, class C, class Real>
__global__ void __launch_bounds__(plain_tile* plain_tile)
    plain_gemm_kernel(const __grid_constant__ PlainOperands<A, B, Bias, C, Real> in) {
  __shared__ Real left[plain_tile][plain_tile + 1];
  __shared__ Real right[plain_tile][plain_tile + 1];
  const auto [m, n, k, transpose_a, transpose_b] = in.shape;
  const std::int64_t tiles = (n + plain_tile - 1) / plain_tile;
  const std::int64_t y = threadIdx.x / plain_tile;
  const std::int64_t x = threadIdx.x % plain_tile;
  const std::int64_t row = blockIdx.x / tiles * plain_tile + y;
  const std::int64_t column = blockIdx.x % tiles * plain_tile + x;
  Real sum{0};
  for (std::int64_t first = 0; first < k; first += plain_tile) {
    const std::int64_t a_column = first + x;
    const std::int64_t b_row = first + y;
    left[y][x] = row < m && a_column < k
                     ? convert<Real>(in.a[transpose_a == Transpose::yes ? a_column * m + row : row * k + a_column])
                     : Real{0};
    right[y][x] = b_row < k && column < n
                      ? convert<Real>(in.b[transpose_b == Transpose::yes ? column * k + b_row : b_row * n + column])
                      : Real{0};
    __syncthreads();
#pragma unroll
    for (std::int64_t i = 0; i < plain_tile; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row >= m || column >= n) return;
  C& out = in.c[row * n + column];
  if (in.bias != nullptr) sum += convert<Real>(in.bias[column]);
  if (in.add) sum += convert<Real>(out);
  out = convert<C>(sum);
}

/// @param op a literal.
template <class A, class B, class Bias, class C>
void plain_multiply(const CudaExecutor& executor, std::string_view op, const GemmShape& shape, const A* a, const B* b,
                    const Bias* bias, C* c, bool add, const std::source_location& where) {
  using Real = accumulation_t<A, B, C>;
  const std::int64_t tiles = ((shape.m + plain_tile - 1) / plain_tile) * ((shape.n + plain_tile - 1) / plain_tile);
  require(tiles <= INT32_MAX, where, op, "without a kernel of cuBLASLt, C may have at most 2^31 tiles of 16 x 16", tiles);
  launch(executor, op.data(), &plain_gemm_kernel<A, B, Bias, C, Real>, static_cast<std::uint32_t>(tiles), plain_tile * plain_tile,
         where, PlainOperands<A, B, Bias, C, Real>{shape, a, b, bias, c, add});
}

}  // namespace mezzo::detail::cublas
