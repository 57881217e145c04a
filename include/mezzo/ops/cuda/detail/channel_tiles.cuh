#pragma once
// How the kernels of batch norm cut rows of channels, and how they bring sums over rows together: in a fixed order, without
// floating-point atomics.
//
// A block has 256 threads. `width` of them stand side by side and hold N neighbouring channels each; `lanes` such rows work
// on different rows of the data. Blocks of one tile of channels take chunks of rows in turn, so that all blocks together
// move through the data from its start to its end.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mezzo/ops/cuda/detail/vector.cuh>

namespace mezzo::detail::device {

inline constexpr std::uint32_t channel_threads = 256;
inline constexpr std::uint32_t channel_blocks_each = 2;  ///< blocks for each multiprocessor

/// How the rows [rows, channels] are cut; a value that kernels take.
struct ChannelTiles {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::uint32_t width = 0;   ///< threads of a block along the channels
  std::uint32_t lanes = 0;   ///< threads of a block along the rows
  std::uint32_t tiles = 0;   ///< of channels
  std::uint32_t blocks = 0;  ///< along the rows, for each tile

  /// @param vector         channels that a thread holds
  /// @param rows_at_once   rows of a lane in one chunk
  static ChannelTiles of(std::int64_t rows, std::int64_t channels, int vector, int rows_at_once, std::uint32_t multiprocessors) {
    const std::int64_t vectors = (channels + vector - 1) / vector;
    const std::int64_t widest = vector == 1 ? 32 : 8;
    ChannelTiles tiles{.rows = rows, .channels = channels};
    tiles.width = static_cast<std::uint32_t>((std::min)(vectors, widest));
    tiles.lanes = channel_threads / tiles.width;
    tiles.tiles = static_cast<std::uint32_t>((vectors + tiles.width - 1) / tiles.width);
    const std::int64_t chunk = std::int64_t{tiles.lanes} * rows_at_once;
    const std::int64_t most = std::max<std::int64_t>(std::int64_t{multiprocessors} * channel_blocks_each / tiles.tiles, 1);
    tiles.blocks = static_cast<std::uint32_t>(std::clamp<std::int64_t>((rows + chunk - 1) / chunk, 1, most));
    return tiles;
  }

  /// Elements of one array of partial sums.
  [[nodiscard]] std::size_t partials() const { return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(channels); }

  [[nodiscard]] __host__ __device__ std::uint32_t grid() const { return tiles * blocks; }
};

/// The calling thread's place.
template <int N>
struct ChannelPlace {
  std::uint32_t x, lane, tile, block;
  std::int64_t channel;  ///< the first of N
  bool active;           ///< false: a thread too many

  __device__ explicit ChannelPlace(const ChannelTiles& tiles)
      : x(threadIdx.x % tiles.width),
        lane(threadIdx.x / tiles.width),
        tile(blockIdx.x % tiles.tiles),
        block(blockIdx.x / tiles.tiles),
        channel((std::int64_t{tile} * tiles.width + x) * N),
        active(lane < tiles.lanes && channel < tiles.channels) {}
};

/// Rows that block `block` of a tile has, with chunks of lanes * rows_at_once rows dealt out in turn.
template <int RowsAtOnce>
__device__ __forceinline__ std::int64_t rows_of_block(const ChannelTiles& tiles, std::uint32_t block) {
  const std::int64_t chunk = std::int64_t{tiles.lanes} * RowsAtOnce;
  const std::int64_t chunks = (tiles.rows + chunk - 1) / chunk;
  if (block >= chunks) return 0;
  const std::int64_t owned = (chunks - block + tiles.blocks - 1) / tiles.blocks;
  const bool has_last = (chunks - 1) % tiles.blocks == block;
  return owned * chunk - (has_last ? chunks * chunk - tiles.rows : 0);
}

/// Calls `body(first row, number of rows here)` for each chunk that a lane has, rows `tiles.lanes` apart; descending from
/// the last chunk when asked to. Rows beyond the end are left to the body: the number is at most RowsAtOnce.
template <int RowsAtOnce, bool Descending, class Body>
__device__ __forceinline__ void for_each_chunk(const ChannelTiles& tiles, std::uint32_t block, std::uint32_t lane, Body&& body) {
  const std::int64_t chunk = std::int64_t{tiles.lanes} * RowsAtOnce;
  const std::int64_t chunks = (tiles.rows + chunk - 1) / chunk;
  for (std::int64_t i = block; i < chunks; i += tiles.blocks) {
    const std::int64_t first = (Descending ? chunks - 1 - i : i) * chunk + lane;
    const std::int64_t left = tiles.rows - first;
    if (left <= 0) continue;
    const bool full = left > std::int64_t{tiles.lanes} * (RowsAtOnce - 1);
    body(first, full ? RowsAtOnce : static_cast<int>((static_cast<std::uint32_t>(left) + tiles.lanes - 1) / tiles.lanes));
  }
}

/// Shared memory of a block's reduction over its lanes: two values for each of a thread's channels.
template <int N, class Real>
struct LaneSums {
  Real first[N][channel_threads];
  Real second[N][channel_threads];
  Real count[channel_threads];
};

}  // namespace mezzo::detail::device
