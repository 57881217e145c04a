#pragma once
// Runs a functor over a table in one launch: the same elements, values and sums as the host runner.

#include <mezzo/executor/cuda.cuh>
#include <mezzo/multi_tensor/detail/vector_access.cuh>
#include <mezzo/multi_tensor/functor.hpp>
#include <mezzo/multi_tensor/table.hpp>

namespace mezzo::multi_tensor {

namespace detail {

inline constexpr std::uint32_t threads = block_lanes;
/// Blocks of a launch at most, for each multiprocessor: enough to fill it several times over, few enough that a skipped step
/// is over at once.
inline constexpr std::uint32_t blocks_per_multiprocessor = 32;

/// The chunk that a thread works on, and which of the lanes on it the thread is.
struct Share {
  Chunk chunk;
  std::uint32_t index;  ///< of the chunk
  std::uint32_t lane;
  std::uint32_t lanes;
  bool any;             ///< false: this warp has no chunk in this block
};

template <int N>
__device__ __forceinline__ Share share_of(const TableView<N>& table, std::uint32_t block_index) {
  const Block block = table.blocks[block_index];
  const std::uint32_t warp = threadIdx.x / warp_lanes;
  const Chunk first = table.chunks[block.first];
  if (first.length > table.tiny_size) return {first, block.first, threadIdx.x, block_lanes, true};
  if (warp >= block.count) return {first, block.first, 0, warp_lanes, false};
  return {table.chunks[block.first + warp], block.first + warp, threadIdx.x % warp_lanes, warp_lanes, true};
}

/// Walks one chunk in any order: peeled head, groups of eight, tail.
template <class Kind, class F>
__device__ __forceinline__ void walk(Kind kind, void* const* columns, const Share& share, F&& f) {
  constexpr auto indices = std::make_index_sequence<Kind::count>{};
  const std::uint64_t begin = share.chunk.begin;
  const std::uint32_t length = share.chunk.length;
  const std::uint32_t peel = min(peel_of(kind, columns, begin), length);
  const std::uint32_t groups = (length - peel) / group_size;
  bool aligned[Kind::count];
  if (find_aligned(kind, indices, columns, begin + peel, aligned)) {
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<true>(kind, indices, columns, begin + peel + g * group_size, aligned, f);
  } else {
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<false>(kind, indices, columns, begin + peel + g * group_size, aligned, f);
  }
  const std::uint32_t tail = peel + groups * group_size;
  if (share.lane < peel) element(kind, indices, columns, begin + share.lane, f);
  if (tail + share.lane < length) element(kind, indices, columns, begin + tail + share.lane, f);
}

/// Walks one chunk in the order that sums are defined by: group g belongs to lane g % lanes, and the tail is a group.
template <class Kind, class F>
__device__ __forceinline__ void walk_in_order(Kind kind, void* const* columns, const Share& share, F&& f) {
  constexpr auto indices = std::make_index_sequence<Kind::count>{};
  const std::uint64_t begin = share.chunk.begin;
  const std::uint32_t groups = share.chunk.length / group_size;
  bool aligned[Kind::count];
  if (find_aligned(kind, indices, columns, begin, aligned)) {
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<true>(kind, indices, columns, begin + g * group_size, aligned, f);
  } else {
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<false>(kind, indices, columns, begin + g * group_size, aligned, f);
  }
  if (share.lane == groups % share.lanes) {
    for (std::uint32_t i = groups * group_size; i < share.chunk.length; ++i) element(kind, indices, columns, begin + i, f);
  }
}

template <int N, class Functor>
__global__ void __launch_bounds__(threads, 4) for_each_element_kernel(const __grid_constant__ TableView<N> table,
                                                                  const __grid_constant__ Functor functor) {
  if (functor.enabled()) {
    for (std::uint32_t b = blockIdx.x; b < table.block_count; b += gridDim.x) {
      const Share share = share_of(table, b);
      if (!share.any) continue;
      const Row<N>& row = table.rows[share.chunk.row];
      const auto scalars = functor.scalars(row.kind, row.group);
      visit_kind(typename Functor::kinds{}, row.kind, [&]<class Kind>(Kind kind) {
        void* columns[Kind::count];
#pragma unroll
        for (int c = 0; c < Kind::count; ++c) columns[c] = row.columns[c];
        walk(kind, columns, share, [&](auto&... values) { functor(kind, scalars, values...); });
      });
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) functor.finish();
}

__device__ __forceinline__ double warp_sum(double value) {
#pragma unroll
  for (std::uint32_t offset = warp_lanes / 2; offset != 0; offset /= 2) {
    value = exact::add(value, __shfl_down_sync(0xffffffffU, value, offset));
  }
  return value;
}

/// The sum over all lanes of the block, valid in thread 0; every thread of the block must call it.
__device__ __forceinline__ double block_sum(double value, double* warps) {
  value = warp_sum(value);
  if (threadIdx.x % warp_lanes == 0) warps[threadIdx.x / warp_lanes] = value;
  __syncthreads();
  double sum = warps[0];
  for (std::uint32_t w = 1; w < threads / warp_lanes; ++w) sum = exact::add(sum, warps[w]);
  __syncthreads();
  return sum;
}

template <int N, class Functor>
__global__ void __launch_bounds__(threads) reduce_elements_kernel(const __grid_constant__ TableView<N> table,
                                                                 const __grid_constant__ Functor functor) {
  __shared__ double warps[threads / warp_lanes];
  __shared__ bool last;
  bool nonfinite = false;
  for (std::uint32_t b = blockIdx.x; b < table.block_count; b += gridDim.x) {
    const Share share = share_of(table, b);
    Partial partial;
    if (share.any) {
      const Row<N>& row = table.rows[share.chunk.row];
      const auto scalars = functor.scalars(row.kind, row.group);
      visit_kind(typename Functor::kinds{}, row.kind, [&]<class Kind>(Kind kind) {
        void* columns[Kind::count];
#pragma unroll
        for (int c = 0; c < Kind::count; ++c) columns[c] = row.columns[c];
        const auto f = [&](auto&... values) { functor(kind, scalars, partial, values...); };
        if constexpr (Functor::sums) {
          walk_in_order(kind, columns, share, f);
        } else {
          walk(kind, columns, share, f);
        }
      });
      nonfinite |= partial.nonfinite;
    }
    if constexpr (Functor::sums) {
      if (share.lanes == block_lanes) {  // the same for the whole block
        const double sum = block_sum(partial.sum, warps);
        if (threadIdx.x == 0) table.partials[share.index] = sum;
      } else {
        const double sum = warp_sum(partial.sum);
        if (share.any && share.lane == 0) table.partials[share.index] = sum;
      }
    }
  }
  if (__syncthreads_or(nonfinite) && threadIdx.x == 0) functor.report_nonfinite();

  // The last block to get here sees what all others stored before they took their ticket.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(table.ticket, 1U) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  double sum = 0;
  if constexpr (Functor::sums) {
    for (std::uint32_t c = threadIdx.x; c < table.chunk_count; c += threads) sum = exact::add(sum, __ldcg(table.partials + c));
    sum = block_sum(sum, warps);
  }
  if (threadIdx.x == 0) {
    *table.ticket = 0;
    functor.finish(sum);
  }
}

inline std::uint32_t blocks_for(const CudaExecutor& executor, std::uint32_t block_count, std::source_location where) {
  const std::uint32_t most = mezzo::detail::multiprocessors(executor, where) * blocks_per_multiprocessor;
  return std::clamp(block_count, 1U, most);
}

}  // namespace detail

/// Queues an element-wise functor over every element of the table: one launch. Does not wait; may be captured.
template <class Functor, int N>
void for_each_element(const CudaExecutor& executor, const TableView<N>& table, const Functor& functor,
                      std::source_location where = std::source_location::current()) {
  static_assert(std::is_trivially_copyable_v<Functor>, "for_each_element: the functor is copied to the device byte by byte and must be trivially copyable (multi_tensor/cuda_runner.cuh).");
  mezzo::detail::launch(executor, "for_each_element", &detail::for_each_element_kernel<N, Functor>,
                        detail::blocks_for(executor, table.block_count, where), detail::threads, where, table, functor);
}

/// Queues a reducing functor over every element of the table: one launch, whose last block calls `finish`. The sum has the
/// host runner's bits. Does not wait; may be captured.
template <class Functor, int N>
void reduce_elements(const CudaExecutor& executor, const TableView<N>& table, const Functor& functor,
                     std::source_location where = std::source_location::current()) {
  static_assert(std::is_trivially_copyable_v<Functor>, "reduce_elements: the functor is copied to the device byte by byte and must be trivially copyable (multi_tensor/cuda_runner.cuh).");
  mezzo::detail::launch(executor, "reduce_elements", &detail::reduce_elements_kernel<N, Functor>,
                        detail::blocks_for(executor, table.block_count, where), detail::threads, where, table, functor);
}

}  // namespace mezzo::multi_tensor
