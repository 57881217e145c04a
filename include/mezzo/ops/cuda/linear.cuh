#pragma once
// The bias gradient of a linear layer on CUDA; its products are matmul's.

#include <cstdint>

#include <mezzo/ops/cublas/gemm.cuh>
#include <mezzo/ops/cuda/detail/vector.cuh>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail {

namespace device {

inline constexpr std::uint32_t column_lanes = 32;  // rows that a block takes at a time; it has 32 columns

/// Sums of the columns of dy[rows, columns], each in one fixed order.
template <class DY, class DB, class Real>
__global__ void __launch_bounds__(32 * column_lanes)
    column_sums_kernel(std::int64_t rows, std::int64_t columns, const DY* dy, DB* db, bool add) {
  __shared__ Real sums[column_lanes][33];
  const std::uint32_t x = threadIdx.x % 32;
  const std::uint32_t lane = threadIdx.x / 32;
  const std::int64_t column = std::int64_t{blockIdx.x} * 32 + x;
  Real sum{0};
  if (column < columns) {
    for (std::int64_t row = lane; row < rows; row += column_lanes) sum += convert<Real>(dy[row * columns + column]);
  }
  sums[lane][x] = sum;
  __syncthreads();
  // Each warp now sums one column: its lanes hold the rows.
  Real total = sums[x][lane];
#pragma unroll
  for (std::uint32_t offset = 16; offset != 0; offset /= 2) total += __shfl_down_sync(0xffffffffU, total, offset);
  const std::int64_t mine = std::int64_t{blockIdx.x} * 32 + lane;
  if (x == 0 && mine < columns) db[mine] = convert<DB>(add ? convert<Real>(db[mine]) + total : total);
}

}  // namespace device

template <>
struct Backend<CudaExecutor, op::linear> {
  template <class DY, class DB>
  static void bias_gradient(Workspace<CudaExecutor>& workspace, const OpSite& site, const LinearShape& shape, const DY* dy,
                            DB* db, Accumulate accumulate) {
    using Real = accumulation_t<DY, DB>;
    const auto blocks = static_cast<std::uint32_t>((shape.out_features + 31) / 32);
    launch(workspace.executor(), site.op, &device::column_sums_kernel<DY, DB, Real>, blocks, 32 * device::column_lanes,
           site.where, shape.batch, shape.out_features, dy, db, accumulate == Accumulate::yes);
  }
};

}  // namespace mezzo::detail
