#pragma once
// Runs a functor over a table in one launch: the same elements, values and sums as the host runner.

#include <algorithm>
#include <atomic>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/multi_tensor/detail/vector_access.cuh>
#include <mezzo/multi_tensor/functor.hpp>
#include <mezzo/multi_tensor/table.hpp>

namespace mezzo::multi_tensor {

namespace detail {

inline constexpr std::uint32_t threads = block_lanes;
/// Elements that a thread takes at a time. Element-wise functors hold every column of a group in registers, so theirs are
/// smaller: twice the threads fit. Sums are defined over groups of eight.
inline constexpr int element_group = 4;
inline constexpr int reduce_group = 8;

/// The chunk that a thread works on, and which of the lanes on it the thread is.
struct Share {
  Chunk chunk;
  std::uint32_t index;  ///< of the chunk
  std::uint32_t lane;
  std::uint32_t lanes;
  bool any;             ///< false: there is no chunk for this warp
};

template <int N>
__device__ __forceinline__ Share share_of(const TableView<N>& table, std::uint32_t block) {
  Share share;
  if (block < table.long_chunks) {
    share = {.index = block, .lane = threadIdx.x, .lanes = block_lanes};
  } else {
    const std::uint32_t warp = (block - table.long_chunks) * (threads / warp_lanes) + threadIdx.x / warp_lanes;
    share = {.index = table.long_chunks + warp, .lane = threadIdx.x % warp_lanes, .lanes = warp_lanes};
  }
  share.any = block < table.block_count && share.index < table.chunk_count;
  if (share.any) share.chunk = table.chunks[share.index];
  return share;
}

/// Walks one chunk in any order: peeled head, groups, tail.
template <int Size, int Unroll, class Kind, class F>
__device__ __forceinline__ void walk(Kind kind, void* const* columns, const Share& share, F&& f) {
  constexpr auto indices = std::make_index_sequence<Kind::count>{};
  const std::uint64_t begin = share.chunk.begin;
  const std::uint32_t length = share.chunk.length;
  const std::uint32_t peel = (::min)(peel_of(kind, columns, begin), length);
  const std::uint32_t groups = (length - peel) / Size;
  bool aligned[Kind::count];
  if (find_aligned<Size>(kind, indices, columns, begin + peel, aligned)) {
#pragma unroll Unroll
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<Size, true>(kind, indices, columns, begin + peel + g * Size, aligned, f);
  } else {
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<Size, false>(kind, indices, columns, begin + peel + g * Size, aligned, f);
  }
  const std::uint32_t tail = peel + groups * Size;
  if (share.lane < peel) element(kind, indices, columns, begin + share.lane, f);
  if (tail + share.lane < length) element(kind, indices, columns, begin + tail + share.lane, f);
}

/// Walks one chunk in the order that sums are defined by: group g belongs to lane g % lanes, and the tail is a group.
template <class Kind, class F>
__device__ __forceinline__ void walk_in_order(Kind kind, void* const* columns, const Share& share, F&& f) {
  constexpr auto indices = std::make_index_sequence<Kind::count>{};
  const std::uint64_t begin = share.chunk.begin;
  const std::uint32_t groups = share.chunk.length / reduce_group;
  bool aligned[Kind::count];
  if (find_aligned<reduce_group>(kind, indices, columns, begin, aligned)) {
#pragma unroll 4
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<reduce_group, true>(kind, indices, columns, begin + g * reduce_group, aligned, f);
  } else {
    for (std::uint32_t g = share.lane; g < groups; g += share.lanes) group<reduce_group, false>(kind, indices, columns, begin + g * reduce_group, aligned, f);
  }
  if (share.lane == groups % share.lanes) {
    for (std::uint32_t i = groups * reduce_group; i < share.chunk.length; ++i) element(kind, indices, columns, begin + i, f);
  }
}

/// The next block of work that nobody has begun. Work is begun in the order of the spans, whichever block is free: memory is
/// walked front to back by all multiprocessors together, which DRAM rewards, and a skipped step needs no more than the
/// resident blocks. Every thread of the block must call it; the counter wraps to 0 with the last piece of work.
template <int N>
__device__ __forceinline__ std::uint32_t next_block(const TableView<N>& table, std::uint32_t* shared) {
  __syncthreads();  // all have read the last answer
  if (threadIdx.x == 0) *shared = gridDim.x + atomicInc(table.next, table.block_count - 1);
  __syncthreads();
  return *shared;
}

template <int N, class Functor>
__global__ void __launch_bounds__(threads, 3) for_each_element_kernel(const __grid_constant__ TableView<N> table,
                                                                     const __grid_constant__ Functor functor) {
  __shared__ std::uint32_t next;
  if (functor.enabled()) {
    for (std::uint32_t b = blockIdx.x; b < table.block_count;) {
      const Share share = share_of(table, b);
      if (share.any) {
        const Row<N>& row = table.rows[share.chunk.row];
        const auto scalars = functor.scalars(row.kind, row.group);
        if (!rests(functor, scalars)) visit_kind(typename Functor::kinds{}, row.kind, [&]<class Kind>(Kind kind) {
          void* columns[Kind::count];
#pragma unroll
          for (int c = 0; c < Kind::count; ++c) columns[c] = row.columns[c];
          walk<element_group, 1>(kind, columns, share, [&](auto&... values) { functor(kind, scalars, values...); });
        });
      }
      if (gridDim.x >= table.block_count) break;
      b = next_block(table, &next);
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
  Share next = share_of(table, blockIdx.x);
  for (std::uint32_t b = blockIdx.x; b < table.block_count; b += gridDim.x) {
    const Share share = next;
    next = share_of(table, b + gridDim.x);  // on its way while this chunk is read
    Partial partial;
    if (share.any) {
      const Row<N>& row = table.rows[share.chunk.row];
      const auto scalars = functor.scalars(row.kind, row.group);
      if (!rests(functor, scalars)) visit_kind(typename Functor::kinds{}, row.kind, [&]<class Kind>(Kind kind) {
        void* columns[Kind::count];
#pragma unroll
        for (int c = 0; c < Kind::count; ++c) columns[c] = row.columns[c];
        const auto f = [&](auto&... values) { functor(kind, scalars, partial, values...); };
        if constexpr (Functor::sums) {
          walk_in_order(kind, columns, share, f);
        } else {
          walk<reduce_group, 4>(kind, columns, share, f);
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

/// Blocks of `Kernel` that a device holds at once; asked once for each kernel and device.
template <auto Kernel>
std::uint32_t resident_blocks(const CudaExecutor& executor, std::source_location where) {
  static std::atomic<std::uint32_t> known[64] = {};
  const auto device = static_cast<std::size_t>(executor.device());
  std::uint32_t blocks = device < std::size(known) ? known[device].load(std::memory_order_relaxed) : 0;
  if (blocks == 0) {
    const mezzo::detail::DeviceGuard guard(executor.device(), where);
    int each = 0;
    mezzo::detail::check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, Kernel, static_cast<int>(threads), 0),
                              "cudaOccupancyMaxActiveBlocksPerMultiprocessor", where);
    blocks = mezzo::detail::multiprocessors(executor, where) * static_cast<std::uint32_t>((std::max)(each, 1));
    if (device < std::size(known)) known[device].store(blocks, std::memory_order_relaxed);
  }
  return blocks;
}

/// Launches `Kernel` with no more blocks than fit at once.
template <auto Kernel, int N, class Functor>
void launch_over(const CudaExecutor& executor, const char* name, const TableView<N>& table, const Functor& functor,
                 std::source_location where) {
  static_assert(std::is_trivially_copyable_v<Functor>,
                "multi_tensor: a functor is copied to the device byte by byte and must be trivially copyable "
                "(multi_tensor/cuda_runner.cuh).");
  static_assert(Functor::kinds::template fit_rows_of<N>, "multi_tensor: a kind has more columns than the rows of the table.");
  const std::uint32_t most = resident_blocks<Kernel>(executor, where);
  mezzo::detail::launch(executor, name, Kernel, std::clamp(table.block_count, 1U, most), threads, where, table, functor);
}

}  // namespace detail

/// Queues an element-wise functor over every element of the table: one launch. Does not wait; may be captured.
template <class Functor, int N>
void for_each_element(const CudaExecutor& executor, const TableView<N>& table, const Functor& functor,
                      std::source_location where = std::source_location::current()) {
  detail::launch_over<&detail::for_each_element_kernel<N, Functor>>(executor, "for_each_element", table, functor, where);
}

/// Queues a reducing functor over every element of the table: one launch, whose last block calls `finish`. The sum has the
/// host runner's bits. Does not wait; may be captured.
template <class Functor, int N>
void reduce_elements(const CudaExecutor& executor, const TableView<N>& table, const Functor& functor,
                     std::source_location where = std::source_location::current()) {
  detail::launch_over<&detail::reduce_elements_kernel<N, Functor>>(executor, "reduce_elements", table, functor, where);
}

}  // namespace mezzo::multi_tensor
