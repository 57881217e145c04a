#pragma once
// Convolution in full float32 as matrix products whose operands are read from the images themselves: no gathered rows.
//
// A block computes a tile of the product, a thread some of its rows and columns; slices of `depth` terms pass through shared
// memory, the next one being on its way in registers. Sums run in an order that the shape, the device and the scratch decide.

#include <cstdint>

namespace mezzo::detail::device {

/// A tile of a product: Rows x Columns, of which a thread computes ThreadRows x ThreadColumns in groups of four.
template <int Rows, int Columns, int ThreadRows, int ThreadColumns>
struct ProductTile {
  static constexpr int rows = Rows, columns = Columns;
  static constexpr int depth = 8;  ///< terms of every sum in a slice
  static constexpr int threads = Rows * Columns / (ThreadRows * ThreadColumns);
  /// On a multiprocessor at once, of its 65536 registers: 128 for a thread of up to 64 sums, 224 for one of more.
  static constexpr int blocks = 65536 / (ThreadRows * ThreadColumns > 64 ? 224 : 128) / threads;
  static constexpr int row_chunks = (Rows * depth / 4 + threads - 1) / threads;  ///< of four, a thread's share of a slice
  static constexpr int column_chunks = (Columns * depth / 4 + threads - 1) / threads;

  /// One slice of both operands. A row is four longer than it need be: transposed stores then meet fewer equal banks.
  struct Slice {
    float row[depth][Rows + 4];
    float column[depth][Columns + 4];
  };

  // Neighbouring lanes share rows or columns, so that a warp reads each 128 bytes of a slice once.
  static constexpr int across = Columns / ThreadColumns, down = Rows / ThreadRows;
  static constexpr int lanes_across = across < 8 ? across : down < 4 ? 32 / down : 8;
  static_assert(threads % 32 == 0 && across % lanes_across == 0 && down % (32 / lanes_across) == 0);
  static constexpr int row_groups = ThreadRows / 4, column_groups = ThreadColumns / 4;
  int x, y;
  float sums[ThreadRows][ThreadColumns];

  __device__ __forceinline__ explicit ProductTile(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    constexpr int warps_across = across / lanes_across;
    x = warp % warps_across * lanes_across + lane % lanes_across;
    y = warp / warps_across * (32 / lanes_across) + lane / lanes_across;
#pragma unroll
    for (int i = 0; i < ThreadRows; ++i)
#pragma unroll
      for (int j = 0; j < ThreadColumns; ++j) sums[i][j] = 0;
  }

  /// The place in the tile of a group of four rows or columns of this thread.
  [[nodiscard]] __device__ __forceinline__ int first_row(int group) const { return group * (Rows / row_groups) + y * 4; }
  [[nodiscard]] __device__ __forceinline__ int first_column(int group) const { return group * (Columns / column_groups) + x * 4; }

  /// Adds up `count` slices. `fetch()` reads the next one from memory into registers, `keep(slice)` puts it into shared memory.
  /// What a term needs is read while the term before it is multiplied, across slices too: the barrier comes before the last term.
  template <class Fetch, class Keep>
  __device__ __forceinline__ void multiply(int count, Slice (&slices)[2], const Fetch& fetch, const Keep& keep) {
    if (count == 0) return;
    Term terms[2];
    fetch();
    keep(slices[0]);
    __syncthreads();
    load(slices[0], 0, terms[0]);
    for (int i = 1; i < count; ++i) {
      const Slice& slice = slices[(i - 1) % 2];
      Slice& next = slices[i % 2];
      fetch();
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        if (k == depth - 1) {
          keep(next);
          __syncthreads();
        }
        load(k == depth - 1 ? next : slice, (k + 1) % depth, terms[(k + 1) % 2]);
        multiply(terms[k % 2]);
      }
    }
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      if (k + 1 < depth) load(slices[(count - 1) % 2], k + 1, terms[(k + 1) % 2]);
      multiply(terms[k % 2]);
    }
  }

  /// Writes the four sums of a row and a group of columns; `add`: to what is there.
  __device__ __forceinline__ void store(int row, int group, float* to, bool add) const {
    const float* const from = sums[row] + 4 * group;
    float4 value = make_float4(from[0], from[1], from[2], from[3]);
    if (add) {
      const float4 old = *reinterpret_cast<const float4*>(to);
      value.x += old.x, value.y += old.y, value.z += old.z, value.w += old.w;
    }
    *reinterpret_cast<float4*>(to) = value;
  }

  static __device__ __forceinline__ void load4(const float* from, float* to) {
    const float4 value = *reinterpret_cast<const float4*>(from);
    to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
  }

 private:
  /// What this thread needs of one term.
  struct Term {
    float left[ThreadRows], right[ThreadColumns];
  };
  __device__ __forceinline__ void load(const Slice& slice, int k, Term& term) const {
#pragma unroll
    for (int g = 0; g < row_groups; ++g) load4(&slice.row[k][first_row(g)], term.left + 4 * g);
#pragma unroll
    for (int g = 0; g < column_groups; ++g) load4(&slice.column[k][first_column(g)], term.right + 4 * g);
  }
  __device__ __forceinline__ void multiply(const Term& term) {
#pragma unroll
    for (int i = 0; i < ThreadRows; ++i)
#pragma unroll
      for (int j = 0; j < ThreadColumns; ++j) sums[i][j] += term.left[i] * term.right[j];
  }
};

/// Chunk number `i` of a thread where the four elements follow each other in the depth of the slice: a row of the operand.
template <class Tile>
struct DeepChunk {
  int line, depth;
  __device__ __forceinline__ DeepChunk(int thread, int i) : line((thread + i * Tile::threads) / 2), depth(thread % 2 * 4) {}
};
/// The same where the four elements are neighbouring rows, or columns, of one term.
template <class Tile, int Lines>
struct WideChunk {
  int line, depth;
  __device__ __forceinline__ WideChunk(int thread, int i)
      : line((thread + i * Tile::threads) % (Lines / 4) * 4), depth((thread + i * Tile::threads) / (Lines / 4)) {}
};

/// Four elements, or zeros where there are none: `from` is not read then.
__device__ __forceinline__ float4 read4(bool there, const float* from) {
  return there ? *reinterpret_cast<const float4*>(from) : make_float4(0, 0, 0, 0);
}
template <int N>
__device__ __forceinline__ void store_deep(float (&slice)[8][N], int depth, int line, const float4& value) {
  slice[depth][line] = value.x, slice[depth + 1][line] = value.y, slice[depth + 2][line] = value.z,
  slice[depth + 3][line] = value.w;
}

/// y from x, or dx from dy: each pixel of `to` is a sum over the taps of the window and the channels of `from`.
struct WindowProduct {
  const float* from;     ///< [images, from_height, from_width, terms]
  const float* weights;  ///< [out_channels, kernel, kernel, in_channels]
  float* to;             ///< [images, to_height, to_width, columns]
  int images, from_height, from_width, terms, to_height, to_width, columns;
  int kernel, stride, padding;
  int column_tiles, row_tiles;  ///< row_tiles: of each class of pixels
  bool add;
};

/// Of a data gradient the pixels with equal remainders by the stride read the same taps: they are computed by themselves, as
/// one of stride^2 classes. Of a forward pass all pixels are one class.
template <bool Gradient, class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks) window_product_kernel(const __grid_constant__ WindowProduct in) {
  __shared__ __align__(16) typename Tile::Slice slices[2];
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  const int column_tile = block % in.column_tiles, pixel_tile = block / in.column_tiles;
  const int first_column = column_tile * Tile::columns;
  const int first_row = pixel_tile % in.row_tiles * Tile::rows;
  const int kind = pixel_tile / in.row_tiles;
  const int step = Gradient ? in.stride : 1;  // between pixels of a class
  const int kind_y = Gradient ? kind / in.stride : 0, kind_x = Gradient ? kind % in.stride : 0;
  const int height = (in.to_height - kind_y + step - 1) / step, width = (in.to_width - kind_x + step - 1) / step;
  const int rows = in.images * height * width;
  if (first_row >= rows) return;
  // The taps of the class: first_y, first_y + step, ...; a pixel's first one reads row y0 of `from`, the others go on from there.
  const int first_y = Gradient ? (kind_y + in.padding) % in.stride : 0,
            first_x = Gradient ? (kind_x + in.padding) % in.stride : 0;
  const int taps_y = first_y < in.kernel ? (in.kernel - 1 - first_y) / step + 1 : 0;
  const int taps_x = first_x < in.kernel ? (in.kernel - 1 - first_x) / step + 1 : 0;
  const int shift_y = Gradient ? (kind_y + in.padding - first_y) / in.stride : -in.padding;
  const int shift_x = Gradient ? (kind_x + in.padding - first_x) / in.stride : -in.padding;
  const int direction = Gradient ? -1 : 1;
  const int place_scale = Gradient ? 1 : in.stride;

  int y0[Tile::row_chunks], x0[Tile::row_chunks];
  const float* image[Tile::row_chunks];
#pragma unroll
  for (int i = 0; i < Tile::row_chunks; ++i) {
    const DeepChunk<Tile> chunk(thread, i);
    const int row = first_row + chunk.line;
    const int number = row / (height * width), rest = row % (height * width);
    constexpr int outside = -(1 << 30);  // of the image, at every tap
    y0[i] = row < rows && chunk.line < Tile::rows ? rest / width * place_scale + shift_y : outside;
    x0[i] = rest % width * place_scale + shift_x;
    image[i] = in.from + std::int64_t{number} * in.from_height * in.from_width * in.terms + chunk.depth;
  }

  const float* row_at[Tile::row_chunks];
  bool row_there[Tile::row_chunks];
  const float* column_at[Tile::column_chunks];
  int tap_y = 0, tap_x = 0, term = 0;
  const auto go_to_tap = [&] {
#pragma unroll
    for (int i = 0; i < Tile::row_chunks; ++i) {
      const int y = y0[i] + direction * tap_y, x = x0[i] + direction * tap_x;
      row_there[i] = y >= 0 && y < in.from_height && x >= 0 && x < in.from_width;
      row_at[i] = row_there[i] ? image[i] + std::int64_t{y * in.from_width + x} * in.terms : image[i];
    }
    const int tap = (first_y + tap_y * step) * in.kernel + first_x + tap_x * step;
#pragma unroll
    for (int i = 0; i < Tile::column_chunks; ++i) {
      if constexpr (Gradient) {
        const WideChunk<Tile, Tile::columns> chunk(thread, i);
        column_at[i] =
            in.weights + (std::int64_t{chunk.depth} * in.kernel * in.kernel + tap) * in.columns + first_column + chunk.line;
      } else {
        const DeepChunk<Tile> chunk(thread, i);
        column_at[i] =
            in.weights + (std::int64_t{first_column + chunk.line} * in.kernel * in.kernel + tap) * in.terms + chunk.depth;
      }
    }
  };

  float4 next_row[Tile::row_chunks], next_column[Tile::column_chunks];
  const auto fetch = [&] {
    if (term == 0) go_to_tap();
#pragma unroll
    for (int i = 0; i < Tile::row_chunks; ++i) {
      next_row[i] = read4(row_there[i], row_at[i]);
      row_at[i] += Tile::depth;
    }
#pragma unroll
    for (int i = 0; i < Tile::column_chunks; ++i) {
      if constexpr (Gradient) {
        const WideChunk<Tile, Tile::columns> chunk(thread, i);
        next_column[i] = read4(chunk.depth < Tile::depth && first_column + chunk.line < in.columns, column_at[i]);
        column_at[i] += std::int64_t{Tile::depth} * in.kernel * in.kernel * in.columns;
      } else {
        const DeepChunk<Tile> chunk(thread, i);
        next_column[i] = read4(chunk.line < Tile::columns && first_column + chunk.line < in.columns, column_at[i]);
        column_at[i] += Tile::depth;
      }
    }
    term += Tile::depth;
    if (term == in.terms) {
      term = 0;
      if (++tap_x == taps_x) tap_x = 0, ++tap_y;
    }
  };
  const auto keep = [&](typename Tile::Slice& slice) {
#pragma unroll
    for (int i = 0; i < Tile::row_chunks; ++i) {
      const DeepChunk<Tile> chunk(thread, i);
      if (chunk.line < Tile::rows) store_deep(slice.row, chunk.depth, chunk.line, next_row[i]);
    }
#pragma unroll
    for (int i = 0; i < Tile::column_chunks; ++i) {
      if constexpr (Gradient) {
        const WideChunk<Tile, Tile::columns> chunk(thread, i);
        if (chunk.depth < Tile::depth) *reinterpret_cast<float4*>(&slice.column[chunk.depth][chunk.line]) = next_column[i];
      } else {
        const DeepChunk<Tile> chunk(thread, i);
        if (chunk.line < Tile::columns) store_deep(slice.column, chunk.depth, chunk.line, next_column[i]);
      }
    }
  };

  Tile tile(thread);
  tile.multiply(taps_y * taps_x * (in.terms / Tile::depth), slices, fetch, keep);

#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(tile.sums) / sizeof(tile.sums[0])); ++i) {
    const int row = first_row + tile.first_row(i / 4) + i % 4;
    if (row >= rows) continue;
    const int number = row / (height * width), rest = row % (height * width);
    const int y = rest / width * step + kind_y, x = rest % width * step + kind_x;
    float* const pixel = in.to + (std::int64_t{number} * in.to_height * in.to_width + y * in.to_width + x) * in.columns;
#pragma unroll
    for (int g = 0; g < Tile::column_groups; ++g) {
      const int column = first_column + tile.first_column(g);
      if (column < in.columns) tile.store(i, g, pixel + column, in.add);
    }
  }
}

/// dw from x and dy: a sum over all pixels of y, cut into parts of which each block takes one.
struct WeightProduct {
  const float* x;   ///< [images, height, width, in_channels]
  const float* dy;  ///< [images, out_height, out_width, out_channels]
  float* to;        ///< [parts, out_channels, kernel, kernel, in_channels]
  int height, width, in_channels, out_height, out_width, out_channels;
  int kernel, stride, padding;
  int column_tiles, row_tiles;
  int pixels, pixels_of_part;
  bool add;
};

template <class Tile>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks) weight_product_kernel(const __grid_constant__ WeightProduct in) {
  static_assert(Tile::threads % (Tile::columns / 4) == 0);
  __shared__ __align__(16) typename Tile::Slice slices[2];
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  const int first_column = block % in.column_tiles * Tile::columns;
  const int first_row = block / in.column_tiles % in.row_tiles * Tile::rows;
  const int part = block / in.column_tiles / in.row_tiles;
  const int columns = in.kernel * in.kernel * in.in_channels;
  const int begin = part * in.pixels_of_part;
  const int end = in.pixels - begin < in.pixels_of_part ? in.pixels : begin + in.pixels_of_part;

  // All chunks of a thread lie in the same columns: one tap, four channels.
  const int column = first_column + WideChunk<Tile, Tile::columns>(thread, 0).line;
  const int tap = column / in.in_channels;
  const int from_y = tap / in.kernel - in.padding, from_x = tap % in.kernel - in.padding;
  const float* const from = in.x + column % in.in_channels;
  int number[Tile::column_chunks], y[Tile::column_chunks], x[Tile::column_chunks];
#pragma unroll
  for (int i = 0; i < Tile::column_chunks; ++i) {
    const int pixel = begin + WideChunk<Tile, Tile::columns>(thread, i).depth;
    const int rest = pixel % (in.out_height * in.out_width);
    number[i] = pixel / (in.out_height * in.out_width), y[i] = rest / in.out_width, x[i] = rest % in.out_width;
  }

  float4 next_row[Tile::row_chunks], next_column[Tile::column_chunks];
  int first = begin;
  const auto fetch = [&] {
#pragma unroll
    for (int i = 0; i < Tile::row_chunks; ++i) {
      const WideChunk<Tile, Tile::rows> chunk(thread, i);
      const int pixel = first + chunk.depth, row = first_row + chunk.line;
      const bool there = chunk.depth < Tile::depth && pixel < end && row < in.out_channels;
      next_row[i] = read4(there, in.dy + std::int64_t{pixel} * in.out_channels + row);
    }
#pragma unroll
    for (int i = 0; i < Tile::column_chunks; ++i) {
      const WideChunk<Tile, Tile::columns> chunk(thread, i);
      const int at_y = y[i] * in.stride + from_y, at_x = x[i] * in.stride + from_x;
      const bool there = chunk.depth < Tile::depth && first + chunk.depth < end && column < columns && at_y >= 0 &&
                         at_y < in.height && at_x >= 0 && at_x < in.width;
      const int pixel = there ? (number[i] * in.height + at_y) * in.width + at_x : 0;
      next_column[i] = read4(there, from + std::int64_t{pixel} * in.in_channels);
      x[i] += Tile::depth;
      while (x[i] >= in.out_width) {
        x[i] -= in.out_width;
        if (++y[i] == in.out_height) y[i] = 0, ++number[i];
      }
    }
    first += Tile::depth;
  };
  const auto keep = [&](typename Tile::Slice& slice) {
#pragma unroll
    for (int i = 0; i < Tile::row_chunks; ++i) {
      const WideChunk<Tile, Tile::rows> chunk(thread, i);
      if (chunk.depth < Tile::depth) *reinterpret_cast<float4*>(&slice.row[chunk.depth][chunk.line]) = next_row[i];
    }
#pragma unroll
    for (int i = 0; i < Tile::column_chunks; ++i) {
      const WideChunk<Tile, Tile::columns> chunk(thread, i);
      if (chunk.depth < Tile::depth) *reinterpret_cast<float4*>(&slice.column[chunk.depth][chunk.line]) = next_column[i];
    }
  };

  Tile tile(thread);
  tile.multiply((end - begin + Tile::depth - 1) / Tile::depth, slices, fetch, keep);

  float* const to = in.to + std::int64_t{part} * in.out_channels * columns;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(tile.sums) / sizeof(tile.sums[0])); ++i) {
    const int row = first_row + tile.first_row(i / 4) + i % 4;
    if (row >= in.out_channels) continue;
#pragma unroll
    for (int g = 0; g < Tile::column_groups; ++g) {
      const int at = first_column + tile.first_column(g);
      if (at < columns) tile.store(i, g, to + std::int64_t{row} * columns + at, in.add);
    }
  }
}

}  // namespace mezzo::detail::device
