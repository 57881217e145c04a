#pragma once
// How a list of spans is cut into work for blocks of threads: a pure function of the spans' sizes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mezzo/core/error.hpp>

namespace mezzo::multi_tensor {

/// Lanes that share a chunk: a warp's or a block's. The sum over a chunk follows one fixed tree over them.
inline constexpr std::uint32_t warp_lanes = 32;
inline constexpr std::uint32_t block_lanes = 256;

/// The lengths that decide how work is cut.
struct PlanOptions {
  std::uint32_t chunk_size = 8192;  ///< elements of a chunk at most; a multiple of 8, so that every chunk starts in its span's alignment
  std::uint32_t tiny_size = 512;    ///< a chunk up to this length is done by one warp, a longer one by a whole block
  std::uint32_t warps = block_lanes / warp_lanes;  ///< warps in a block, and so tiny chunks in one
};

/// A run of elements `[begin, begin + length)` of one row.
struct Chunk {
  std::uint64_t begin;
  std::uint32_t length;
  std::uint32_t row;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Chunks that cover every element of every span exactly once. The long ones come first and take a block of threads each,
/// the tiny ones follow, `warps` to a block, a warp each; within each kind chunks keep the order of the spans. Empty spans
/// have no chunk, wherever they stand.
struct Plan {
  std::vector<Chunk> chunks;
  std::uint32_t long_chunks = 0;
  std::uint32_t block_count = 0;
};

/// Plans `sizes[i]` elements of row i. Sizes may pass 2^32. @throws InvalidArgument on more than 2^32 - 1 rows or chunks.
inline Plan make_plan(std::span<const std::uint64_t> sizes, const PlanOptions& options = {},
                      std::source_location where = std::source_location::current()) {
  constexpr std::uint64_t most = 0xffffffffU;
  const std::uint64_t chunk_size = options.chunk_size;
  require(chunk_size > 0 && chunk_size % 8 == 0, where, "PlanOptions", "chunk_size must be a positive multiple of 8", chunk_size);
  require(options.warps > 0, where, "PlanOptions", "warps must be positive", options.warps);
  require(sizes.size() <= most, where, "make_plan", "at most 2^32 - 1 spans", sizes.size());
  std::uint64_t chunk_count = 0;
  for (const std::uint64_t size : sizes) {
    const std::uint64_t needed = size / chunk_size + (size % chunk_size != 0);
    require(needed <= most - chunk_count, where, "make_plan", "at most 2^32 - 1 chunks; size of the span that passes it", size);
    chunk_count += needed;
  }

  Plan plan;
  plan.chunks.reserve(chunk_count);
  std::vector<Chunk> tiny;
  for (std::size_t row = 0; row < sizes.size(); ++row) {
    for (std::uint64_t begin = 0; begin < sizes[row]; begin += chunk_size) {
      const auto length = static_cast<std::uint32_t>((std::min)(chunk_size, sizes[row] - begin));
      (length <= options.tiny_size ? tiny : plan.chunks).push_back({begin, length, static_cast<std::uint32_t>(row)});
    }
  }
  plan.long_chunks = static_cast<std::uint32_t>(plan.chunks.size());
  plan.block_count = static_cast<std::uint32_t>(plan.chunks.size() + (tiny.size() + options.warps - 1) / options.warps);
  plan.chunks.insert(plan.chunks.end(), tiny.begin(), tiny.end());
  return plan;
}

}  // namespace mezzo::multi_tensor
