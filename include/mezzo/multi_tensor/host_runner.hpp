#pragma once
// Runs a functor over a table on the host, element by element: the definition of what every runner computes.

#include <mezzo/executor/host.hpp>
#include <mezzo/multi_tensor/functor.hpp>
#include <mezzo/multi_tensor/table.hpp>

namespace mezzo::multi_tensor {

namespace detail {

/// Adds 32 lanes in a warp's order: halves onto each other, so lane 0 ends with the sum.
inline double warp_sum(double* lanes) {
  for (std::uint32_t offset = warp_lanes / 2; offset != 0; offset /= 2) {
    for (std::uint32_t lane = 0; lane < offset; ++lane) lanes[lane] = exact::add(lanes[lane], lanes[lane + offset]);
  }
  return lanes[0];
}

/// Adds 32 or 256 lanes: each warp's tree, then the warps in order.
inline double lane_sum(double* lanes, std::uint32_t count) {
  double sum = warp_sum(lanes);
  for (std::uint32_t first = warp_lanes; first < count; first += warp_lanes) sum = exact::add(sum, warp_sum(lanes + first));
  return sum;
}

}  // namespace detail

/// Runs an element-wise functor over every element of the table.
template <class Functor, int N>
void for_each_element(const HostExecutor&, const TableView<N>& table, const Functor& functor, std::source_location = {}) {
  static_assert(Functor::kinds::template fit_rows_of<N>, "multi_tensor: a kind has more columns than the rows of the table.");
  if (functor.enabled()) {
    for (std::uint32_t c = 0; c < table.chunk_count; ++c) {
      const Chunk chunk = table.chunks[c];
      const Row<N>& row = table.rows[chunk.row];
      const auto scalars = functor.scalars(row.kind, row.group);
      if (detail::rests(functor, scalars)) continue;
      detail::visit_kind(typename Functor::kinds{}, row.kind, [&]<class Kind>(Kind kind) {
        const std::uint64_t end = chunk.begin + chunk.length;
        for (std::uint64_t i = chunk.begin; i < end; ++i) {
          detail::element(kind, std::make_index_sequence<Kind::count>{}, row.columns, i,
                          [&](auto&... values) { functor(kind, scalars, values...); });
        }
      });
    }
  }
  functor.finish();
}

/// Runs a reducing functor over every element of the table.
///
/// The sum is reproducible: elements go to lanes by eights (lane `i / 8 % lanes` of a chunk, in order), lanes are added over
/// one fixed tree, and so are the chunks' partials; it depends on the spans' sizes alone.
template <class Functor, int N>
void reduce_elements(const HostExecutor&, const TableView<N>& table, const Functor& functor, std::source_location = {}) {
  static_assert(Functor::kinds::template fit_rows_of<N>, "multi_tensor: a kind has more columns than the rows of the table.");
  bool nonfinite = false;
  for (std::uint32_t c = 0; c < table.chunk_count; ++c) {
    const Chunk chunk = table.chunks[c];
    const Row<N>& row = table.rows[chunk.row];
    const std::uint32_t lanes = c < table.long_chunks ? block_lanes : warp_lanes;
    const auto scalars = functor.scalars(row.kind, row.group);
    double sums[block_lanes] = {};
    if (!detail::rests(functor, scalars)) detail::visit_kind(typename Functor::kinds{}, row.kind, [&]<class Kind>(Kind kind) {
      for (std::uint32_t i = 0; i < chunk.length; ++i) {
        const std::uint32_t lane = i / 8 % lanes;
        Partial partial{.sum = sums[lane]};
        detail::element(kind, std::make_index_sequence<Kind::count>{}, row.columns, chunk.begin + i,
                        [&](auto&... values) { functor(kind, scalars, partial, values...); });
        sums[lane] = partial.sum;
        nonfinite |= partial.nonfinite;
      }
    });
    if constexpr (Functor::sums) table.partials[c] = detail::lane_sum(sums, lanes);
  }
  double sum = 0;
  if constexpr (Functor::sums) {
    double sums[block_lanes] = {};
    for (std::uint32_t c = 0; c < table.chunk_count; ++c) sums[c % block_lanes] = exact::add(sums[c % block_lanes], table.partials[c]);
    sum = detail::lane_sum(sums, block_lanes);
  }
  if (nonfinite) functor.report_nonfinite();
  functor.finish(sum);
}

}  // namespace mezzo::multi_tensor
