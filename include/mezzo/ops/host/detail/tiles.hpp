#pragma once
// The inner loops of convolution: tiles of products that stay in registers.
//
// Both multiply `Rows` rows by two vectors of columns. A tile is [Rows][tile_columns] and its sums run in index order, so
// that a result does not depend on how the work around it is cut.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/host/detail/rows.hpp>
#include <mezzo/ops/host/detail/simd.hpp>

namespace mezzo::detail::host {

/// Columns of a tile: two AVX2 registers.
template <class T>
inline constexpr std::int64_t tile_columns = 64 / static_cast<std::int64_t>(sizeof(T));

/// A dot product's first factor: `rows` runs of `run` contiguous elements, `row_stride` apart.
struct Window {
  std::int64_t rows = 0;
  std::int64_t row_stride = 0;
  std::int64_t run = 0;
};

/// tile[r][c] = sum over the window's elements k of a[from[r] + position of k] * panel[k][c].
template <std::int64_t Rows, class T>
void window_tile_plain(const T* a, const std::ptrdiff_t* from, const Window& window, const T* panel, T* tile) {
  T sums[Rows][tile_columns<T>] = {};
  for (std::int64_t row = 0; row < window.rows; ++row) {
    for (std::int64_t k = 0; k < window.run; ++k, panel += tile_columns<T>) {
      for (std::int64_t r = 0; r < Rows; ++r) {
        const T value = a[from[r] + row * window.row_stride + k];
        for (std::int64_t c = 0; c < tile_columns<T>; ++c) sums[r][c] += value * panel[c];
      }
    }
  }
  for (std::int64_t r = 0; r < Rows; ++r) {
    for (std::int64_t c = 0; c < tile_columns<T>; ++c) tile[r * tile_columns<T> + c] = sums[r][c];
  }
}

/// tile[r][c] += sum over i in [0, count) of b[i * b_stride + r] * a[from[i] + c].
template <std::int64_t Rows, class T>
void outer_tile_plain(const T* a, const std::ptrdiff_t* from, const T* b, std::int64_t b_stride, std::int64_t count, T* tile) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t r = 0; r < Rows; ++r) {
      const T value = b[i * b_stride + r];
      for (std::int64_t c = 0; c < tile_columns<T>; ++c) tile[r * tile_columns<T> + c] += value * a[from[i] + c];
    }
  }
}

#if MEZZO_HAS_AVX2

template <std::int64_t Rows, class T>
MEZZO_AVX2 void window_tile_avx2(const T* a, const std::ptrdiff_t* from, const Window& window, const T* panel, T* tile) {
  using Register [[gnu::vector_size(32)]] = T;
  using Unaligned [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  constexpr std::int64_t half = tile_columns<T> / 2;
  Register left[Rows] = {};
  Register right[Rows] = {};
  for (std::int64_t row = 0; row < window.rows; ++row) {
    const T* values[Rows];
    for (std::int64_t r = 0; r < Rows; ++r) values[r] = a + from[r] + row * window.row_stride;
    for (std::int64_t k = 0; k < window.run; ++k, panel += tile_columns<T>) {
      const Register panel_left = *reinterpret_cast<const Unaligned*>(panel);
      const Register panel_right = *reinterpret_cast<const Unaligned*>(panel + half);
      for (std::int64_t r = 0; r < Rows; ++r) {
        const T value = values[r][k];
        left[r] += value * panel_left;
        right[r] += value * panel_right;
      }
    }
  }
  for (std::int64_t r = 0; r < Rows; ++r) {
    *reinterpret_cast<Unaligned*>(tile + r * tile_columns<T>) = left[r];
    *reinterpret_cast<Unaligned*>(tile + r * tile_columns<T> + half) = right[r];
  }
}

template <std::int64_t Rows, class T>
MEZZO_AVX2 void outer_tile_avx2(const T* a, const std::ptrdiff_t* from, const T* b, std::int64_t b_stride, std::int64_t count,
                                T* tile) {
  using Register [[gnu::vector_size(32)]] = T;
  using Unaligned [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  constexpr std::int64_t half = tile_columns<T> / 2;
  Register left[Rows];
  Register right[Rows];
  for (std::int64_t r = 0; r < Rows; ++r) {
    left[r] = *reinterpret_cast<const Unaligned*>(tile + r * tile_columns<T>);
    right[r] = *reinterpret_cast<const Unaligned*>(tile + r * tile_columns<T> + half);
  }
  for (std::int64_t i = 0; i < count; ++i, b += b_stride) {
    const Register a_left = *reinterpret_cast<const Unaligned*>(a + from[i]);
    const Register a_right = *reinterpret_cast<const Unaligned*>(a + from[i] + half);
    for (std::int64_t r = 0; r < Rows; ++r) {
      const T value = b[r];
      left[r] += value * a_left;
      right[r] += value * a_right;
    }
  }
  for (std::int64_t r = 0; r < Rows; ++r) {
    *reinterpret_cast<Unaligned*>(tile + r * tile_columns<T>) = left[r];
    *reinterpret_cast<Unaligned*>(tile + r * tile_columns<T> + half) = right[r];
  }
}

#endif

template <std::int64_t Rows, class T>
void window_tile(const T* a, const std::ptrdiff_t* from, const Window& window, const T* panel, T* tile) {
#if MEZZO_HAS_AVX2
  if (has_avx2()) return window_tile_avx2<Rows>(a, from, window, panel, tile);
#endif
  window_tile_plain<Rows>(a, from, window, panel, tile);
}

template <std::int64_t Rows, class T>
void outer_tile(const T* a, const std::ptrdiff_t* from, const T* b, std::int64_t b_stride, std::int64_t count, T* tile) {
#if MEZZO_HAS_AVX2
  if (has_avx2()) return outer_tile_avx2<Rows>(a, from, b, b_stride, count, tile);
#endif
  outer_tile_plain<Rows>(a, from, b, b_stride, count, tile);
}

#if MEZZO_HAS_AVX2

template <std::int64_t Rows, class To>
MEZZO_AVX2 void store_tile_avx2(const float* tile, To* base, const std::ptrdiff_t* to) {
  for (std::int64_t r = 0; r < Rows; ++r) {
    const float* const from = tile + r * tile_columns<float>;
    if constexpr (stdlib::is_same_v<To, float16>) {
      narrow_eight(from, base + to[r]);
      narrow_eight(from + 8, base + to[r] + 8);
    } else if constexpr (stdlib::is_same_v<To, bfloat16>) {
      auto* const bits = reinterpret_cast<Bits16*>(base + to[r]);
      for (std::int64_t c = 0; c < tile_columns<float>; ++c) bits[c] = encode_bfloat16(to_bits(from[c]));
    } else {
      for (std::int64_t c = 0; c < tile_columns<float>; ++c) base[to[r] + c] = from[c];
    }
  }
}

#endif

/// base[to[r] + c] = tile[r][c] for the first `columns` columns, or added to what is there; rounded once.
template <std::int64_t Rows, class T, class To>
void store_tile(const T* tile, To* base, const std::ptrdiff_t* to, std::int64_t columns, Accumulate accumulate) {
#if MEZZO_HAS_AVX2
  if constexpr (stdlib::is_same_v<T, float> && !stdlib::is_same_v<To, double>) {
    if (has_avx2() && columns == tile_columns<T> && accumulate == Accumulate::no) return store_tile_avx2<Rows>(tile, base, to);
  }
#endif
  for (std::int64_t r = 0; r < Rows; ++r) store_row(tile + r * tile_columns<T>, base + to[r], columns, accumulate);
}

/// Calls `tile(first row, number of rows as a constant)` until `rows` rows are done: sixes, whose sums take 12 of the 16
/// registers, then fours, twos and ones.
template <class Tile>
void for_each_tile(std::int64_t rows, Tile&& tile) {
  std::int64_t row = 0;
  for (; row + 6 <= rows; row += 6) tile(row, std::integral_constant<std::int64_t, 6>{});
  for (; row + 4 <= rows; row += 4) tile(row, std::integral_constant<std::int64_t, 4>{});
  for (; row + 2 <= rows; row += 2) tile(row, std::integral_constant<std::int64_t, 2>{});
  for (; row < rows; ++row) tile(row, std::integral_constant<std::int64_t, 1>{});
}

}  // namespace mezzo::detail::host
