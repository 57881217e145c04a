#pragma once
// Sums over the rows of data in NHWC, and what the last block makes of them.

#include <cstdint>

#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/cuda/detail/channel_tiles.cuh>

namespace mezzo::detail::device {

/// Partial results of the blocks, [blocks, channels] each: what the last block of a tile reads.
template <class Real>
struct ChannelPartials {
  Real* first;
  Real* second;
  std::uint32_t* tickets;
};

/// Count, mean and sum of squared distances from it, of N channels.
template <int N, class Real>
struct Moments {
  Real count{0};
  Real mean[N] = {};
  Real squares[N] = {};

  /// Takes in another set's channel i; the counts are brought together after all channels.
  /// `share` is the other's part of both counts.
  __device__ __forceinline__ void merge(int i, Real share, Real other_mean, Real other_squares) {
    const Real distance = other_mean - mean[i];
    mean[i] += distance * share;
    squares[i] += other_squares + distance * distance * count * share;
  }
};

/// Merges the moments of a block's lanes in a fixed tree; lane 0 then holds the block's. All threads must call it.
template <int N, class Real>
__device__ __forceinline__ void merge_lanes(const ChannelTiles& tiles, std::uint32_t lane, Moments<N, Real>& moments,
                                            LaneSums<N, Real>& shared) {
  const std::uint32_t t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < N; ++i) shared.first[i][t] = moments.mean[i], shared.second[i][t] = moments.squares[i];
  shared.count[t] = moments.count;
  std::uint32_t offset = 1;
  while (offset < tiles.lanes) offset *= 2;
  for (offset /= 2; offset != 0; offset /= 2) {
    __syncthreads();
    const std::uint32_t other = t + offset * tiles.width;
    if (lane < offset && lane + offset < tiles.lanes && shared.count[other] != Real{0}) {
      const Real other_count = shared.count[other];
      const Real share = other_count / (moments.count + other_count);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        moments.merge(i, share, shared.first[i][other], shared.second[i][other]);
        shared.first[i][t] = moments.mean[i], shared.second[i][t] = moments.squares[i];
      }
      moments.count += other_count;
      shared.count[t] = moments.count;
    }
  }
}

/// Adds two sums a channel over a block's lanes in a fixed tree; lane 0 then holds the block's. All threads must call it.
template <int N, class Real>
__device__ __forceinline__ void add_lanes(const ChannelTiles& tiles, std::uint32_t lane, Real (&first)[N], Real (&second)[N],
                                          LaneSums<N, Real>& shared) {
  const std::uint32_t t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < N; ++i) shared.first[i][t] = first[i], shared.second[i][t] = second[i];
  std::uint32_t offset = 1;
  while (offset < tiles.lanes) offset *= 2;
  for (offset /= 2; offset != 0; offset /= 2) {
    __syncthreads();
    const std::uint32_t other = t + offset * tiles.width;
    if (lane < offset && lane + offset < tiles.lanes) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        first[i] += shared.first[i][other], second[i] += shared.second[i][other];
        shared.first[i][t] = first[i], shared.second[i][t] = second[i];
      }
    }
  }
}

/// Stores a block's two values a channel, and tells whether this block is the tile's last. All threads must call it.
template <int N, class Real>
__device__ __forceinline__ bool store_partials(const ChannelTiles& tiles, const ChannelPlace<N>& place, const Real (&first)[N],
                                               const Real (&second)[N], const ChannelPartials<Real>& partials) {
  if (place.lane == 0 && place.active) {
    const std::int64_t at = std::int64_t{place.block} * tiles.channels + place.channel;
    store_vector<N>(partials.first + at, first);
    store_vector<N>(partials.second + at, second);
  }
  return is_last_block(partials.tickets + place.tile, tiles.blocks);
}

/// Channels that a thread of the last block sums: one 16-byte access of floats.
template <int N>
inline constexpr int final_channels = N < 4 ? N : 4;

/// Room of the last block.
template <int N>
struct LastBlockSums {
  double value[3][final_channels<N>][channel_threads];
};

/// A block first sums over its lanes; the last one then sums over the blocks.
template <int N, class Real>
union BlockSums {
  LaneSums<N, Real> lanes;
  LastBlockSums<N> last;
};

/// In the last block of a tile: adds up `take(first[i], second[i], block, i, sums)` over the blocks, for each channel i of a
/// thread, in a fixed order; then calls `finish(channel, sums)` once for each channel of the tile. All threads must call it.
template <int N, int Sums, class Real, class Take, class Finish>
__device__ __forceinline__ void sum_partials(const ChannelTiles& tiles, std::uint32_t tile, const ChannelPartials<Real>& partials,
                                             LastBlockSums<N>& shared, Take&& take, Finish&& finish) {
  constexpr int M = final_channels<N>;
  const std::uint32_t columns = tiles.width * N / M;  // threads along the channels
  const std::uint32_t lanes = channel_threads / columns;
  const std::uint32_t column = threadIdx.x % columns;
  const std::uint32_t lane = threadIdx.x / columns;
  const std::int64_t channel = (std::int64_t{tile} * columns + column) * M;
  const bool active = lane < lanes && channel < tiles.channels;
  double sums[M][Sums] = {};
  if (active) {
#pragma unroll 4
    for (std::uint32_t b = lane; b < tiles.blocks; b += lanes) {
      Real first[M], second[M];
      const std::int64_t at = std::int64_t{b} * tiles.channels + channel;
      load_fresh<M>(partials.first + at, first);
      load_fresh<M>(partials.second + at, second);
#pragma unroll
      for (int i = 0; i < M; ++i) take(first[i], second[i], b, i, sums[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < M; ++i) {
#pragma unroll
    for (int s = 0; s < Sums; ++s) shared.value[s][i][threadIdx.x] = sums[i][s];
  }
  __syncthreads();
  // A thread for each channel of the tile.
  const std::uint32_t mine = threadIdx.x;
  const std::int64_t my_channel = std::int64_t{tile} * columns * M + mine;
  if (mine >= columns * M || my_channel >= tiles.channels) return;
  double total[Sums] = {};
  for (std::uint32_t l = 0; l < lanes; ++l) {
#pragma unroll
    for (int s = 0; s < Sums; ++s) total[s] += shared.value[s][mine % M][l * columns + mine / M];
  }
  finish(my_channel, total);
}

}  // namespace mezzo::detail::device
