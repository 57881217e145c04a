#pragma once
// Products that something joins, a bias or what C holds, before the one rounding to a 16-bit C.
//
// cuBLASLt has kernels that round the product to C's type before they add (bfloat16, m = 1, n = 40, k = 512 runs on one).
// So the sums of some rows of C at a time are kept in float in the scratch, and a second kernel joins and rounds them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/numeric/arithmetic.hpp>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/cublas/detail/product.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>

namespace mezzo::detail::cublas {

/// to[i] = from[i], or to[i] + from[i]; rounded once.
template <class Sum, class T>
struct StoreSums {
  const Sum* from;
  T* to;
  bool add;
  __device__ void operator()(std::uint64_t i) const { to[i] = convert<T>(add ? convert<Sum>(to[i]) + from[i] : from[i]); }
};

/// to[i, j] = from[i, j] + bias[j], rounded once.
template <class Sum, class Bias, class T>
struct AddBias {
  std::uint64_t columns;
  const Sum* from;
  const Bias* bias;
  T* to;
  __device__ void operator()(std::uint64_t i) const { to[i] = convert<T>(exact::add(from[i], convert<Sum>(bias[i % columns]))); }
};

/// Rows of C whose sums are kept at once: as many as half of the scratch holds. None where it does not hold one.
struct SumTiles {
  std::int64_t rows = 0;
  std::size_t bytes = 0;  ///< of their sums, at the front of the scratch

  SumTiles(const GemmShape& shape, const device::Scratch& scratch) {
    const std::size_t row = static_cast<std::size_t>(shape.n) * sizeof(float);
    rows = (std::min)(static_cast<std::int64_t>(scratch.bytes / 2 / row), shape.m);
    if (rows < shape.m && rows > 8) rows -= rows % 8;  // later tiles then start at aligned addresses
    bytes = static_cast<std::size_t>(rows) * row;
  }

  /// The scratch behind the sums, for the product itself.
  [[nodiscard]] device::Scratch left(device::Scratch scratch) const {
    static_cast<void>(scratch.take(bytes));
    return product_scratch(scratch);
  }

  /// Calls `body(shape of a tile, its first row)`.
  template <class Body>
  void for_each(const GemmShape& shape, Body&& body) const {
    for (std::int64_t first = 0; first < shape.m; first += rows) {
      GemmShape tile = shape;
      tile.m = (std::min)(rows, shape.m - first);
      body(tile, first);
    }
  }
};

/// Plans what `multiply_joined` runs, for operands aligned to 16 bytes.
template <class T>
void plan_joined(Workspace<CudaExecutor>& workspace, std::string_view op, const GemmShape& shape, const device::Scratch& scratch,
                 const std::source_location& where) {
  const SumTiles tiles(shape, scratch);
  if (tiles.rows == 0) return;
  const T* const any = nullptr;
  const float* const sums = nullptr;
  tiles.for_each(shape, [&](const GemmShape& tile, std::int64_t) {
    const ProductKey key = product_key(workspace, tile, any, any, sums, sums, tiles.left(scratch), shape.m);
    static_cast<void>(products_of(workspace, op, where).plan(workspace.executor(), key, op, where));
  });
}

/// Queues C = A B + bias, or C = A B + C where `bias` is null; rounded once. Returns false, with nothing queued, where
/// cuBLASLt has no kernel for it or the scratch is too small.
template <class A, class B, class Bias, class C>
bool multiply_joined(Workspace<CudaExecutor>& workspace, std::string_view op, const GemmShape& shape, const A* a, const B* b,
                     const Bias* bias, C* c, const device::Scratch& scratch, const std::source_location& where) {
  const SumTiles tiles(shape, scratch);
  if (tiles.rows == 0) return false;
  float* const sums = reinterpret_cast<float*>(scratch.memory);
  const float* const none = nullptr;
  const auto rows_of = [&](std::int64_t first) { return a + (shape.transpose_a == Transpose::yes ? first : first * shape.k); };
  const auto plan_of = [&](const GemmShape& tile, std::int64_t first) -> const ProductPlan& {
    const ProductKey key = product_key(workspace, tile, rows_of(first), b, none, sums, tiles.left(scratch), shape.m);
    return products_of(workspace, op, where).plan(workspace.executor(), key, op, where);
  };
  bool found = true;  // by every tile, before the first one changes C
  tiles.for_each(shape, [&](const GemmShape& tile, std::int64_t first) { found = found && plan_of(tile, first).found; });
  if (!found) return false;
  tiles.for_each(shape, [&](const GemmShape& tile, std::int64_t first) {
    run(workspace, op, plan_of(tile, first), rows_of(first), b, none, sums, false, tiles.left(scratch), where);
    const auto count = static_cast<std::uint64_t>(tile.m * tile.n);
    C* const to = c + first * shape.n;
    if (bias != nullptr) {
      for_each_index(workspace.executor(), count, AddBias<float, Bias, C>{static_cast<std::uint64_t>(shape.n), sums, bias, to},
                     where);
    } else {
      for_each_index(workspace.executor(), count, StoreSums<float, C>{sums, to, true}, where);
    }
  });
  return true;
}

}  // namespace mezzo::detail::cublas
