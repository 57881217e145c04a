#pragma once
// Which convolutions run as implicit products, on which tiles.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/ops/cuda/detail/implicit_product.cuh>
#include <mezzo/ops/cuda/detail/vector.cuh>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::device {

/// to[i] = the sum of the parts, from the first to the last, [+ to[i]].
struct SumParts {
  const float* parts;
  float* to;
  std::int64_t count;
  int number;
  bool add;
  __device__ void operator()(std::uint64_t i) const {
    float sum = 0;
    for (int part = 0; part < number; ++part) sum += parts[part * count + static_cast<std::int64_t>(i)];
    to[i] = add ? to[i] + sum : sum;
  }
};

/// Full float32, channels in eights, addresses aligned to 16 bytes; everything else stays with gathered products.
/// The passes return false, with nothing queued, where they do not take a call. No plans, no allocation.
class ImplicitConv2d {
 public:
  static bool forward(const CudaExecutor& executor, const Conv2dShape& s, const float* x, const float* w, float* y,
                      const std::source_location& where) {
    if (!takes(s) || !is_aligned(x) || !is_aligned(w) || !is_aligned(y)) return false;
    return window_product<false>(executor, window_of(s, x, w, y, false), "conv2d", where);
  }

  static bool data_gradient(const CudaExecutor& executor, const Conv2dShape& s, const float* dy, const float* w, float* dx,
                            bool add, const std::source_location& where) {
    if (!takes(s) || !is_aligned(dy) || !is_aligned(w) || !is_aligned(dx)) return false;
    WindowProduct product = window_of(s, dy, w, dx, add);
    std::swap(product.from_height, product.to_height);
    std::swap(product.from_width, product.to_width);
    std::swap(product.terms, product.columns);
    return window_product<true>(executor, product, "conv2d_data_gradient", where);
  }

  /// @param scratch for sums over parts of the images; with little of it fewer blocks can work side by side.
  static bool weight_gradient(const CudaExecutor& executor, const Conv2dShape& s, const float* x, const float* dy, float* dw,
                              bool add, std::byte* scratch, std::size_t bytes, const std::source_location& where) {
    if (!takes(s) || !is_aligned(x) || !is_aligned(dy) || !is_aligned(dw)) return false;
    const WeightProduct product{.x = x,
                                .dy = dy,
                                .to = dw,
                                .height = static_cast<int>(s.height),
                                .width = static_cast<int>(s.width),
                                .in_channels = static_cast<int>(s.in_channels),
                                .out_height = static_cast<int>(s.out_height()),
                                .out_width = static_cast<int>(s.out_width()),
                                .out_channels = static_cast<int>(s.out_channels),
                                .kernel = static_cast<int>(s.kernel),
                                .stride = static_cast<int>(s.stride),
                                .padding = static_cast<int>(s.padding),
                                .column_tiles = 0,
                                .row_tiles = 0,
                                .pixels = static_cast<int>(s.batch * s.out_height() * s.out_width()),
                                .pixels_of_part = 0,
                                .add = add};
    const Parts parts{is_aligned(scratch) ? reinterpret_cast<float*>(scratch) : nullptr, bytes};
    if (s.out_channels <= 16) {
      weight_product<ProductTile<16, 64, 8, 4>>(executor, product, parts, where);
    } else if (s.out_channels <= 32) {
      weight_product<ProductTile<32, 64, 4, 4>>(executor, product, parts, where);
    } else if (s.out_channels <= 64) {
      weight_product<ProductTile<64, 128, 16, 8>>(executor, product, parts, where);
    } else {
      weight_product<ProductTile<128, 128, 16, 8>>(executor, product, parts, where);
    }
    return true;
  }

 private:
  /// Scratch for the sums of parts.
  struct Parts {
    float* memory;
    std::size_t bytes;
  };

  static bool takes(const Conv2dShape& s) {
    constexpr std::int64_t most = std::int64_t{1} << 30;  // of pixels and columns, so that int holds every number of one
    return s.batch != 0 && s.in_channels % 8 == 0 && s.out_channels % 8 == 0 && s.batch * s.height * s.width <= most &&
           s.batch * s.out_height() * s.out_width() <= most &&
           s.kernel * s.kernel * (std::max)(s.in_channels, s.out_channels) <= most && s.stride <= 1 << 15;
  }

  static WindowProduct window_of(const Conv2dShape& s, const float* from, const float* weights, float* to, bool add) {
    return {.from = from,
            .weights = weights,
            .to = to,
            .images = static_cast<int>(s.batch),
            .from_height = static_cast<int>(s.height),
            .from_width = static_cast<int>(s.width),
            .terms = static_cast<int>(s.in_channels),
            .to_height = static_cast<int>(s.out_height()),
            .to_width = static_cast<int>(s.out_width()),
            .columns = static_cast<int>(s.out_channels),
            .kernel = static_cast<int>(s.kernel),
            .stride = static_cast<int>(s.stride),
            .padding = static_cast<int>(s.padding),
            .column_tiles = 0,
            .row_tiles = 0,
            .add = add};
  }

  template <bool Gradient>
  static bool window_product(const CudaExecutor& executor, const WindowProduct& product, const char* op,
                             const std::source_location& where) {
    if (product.columns <= 16) return queue<Gradient, ProductTile<256, 16, 8, 4>>(executor, product, op, where);
    if (product.columns <= 32) return queue<Gradient, ProductTile<256, 32, 8, 8>>(executor, product, op, where);
    if (product.columns <= 64) return queue<Gradient, ProductTile<128, 64, 8, 8>>(executor, product, op, where);
    // Large tiles reuse more of what they read, a tenth in time; small ones spread better over the multiprocessors.
    const std::int64_t pixels = std::int64_t{product.images} * product.to_height * product.to_width;
    const auto rows_of_each = [&](int rows) {
      const std::int64_t tiles = std::int64_t{tiles_of(pixels, rows)} * tiles_of(product.columns, 128);
      return tiles_of(tiles, static_cast<int>(multiprocessors(executor, where))) * std::int64_t{rows};
    };
    if (10 * rows_of_each(128) <= 11 * rows_of_each(64)) {
      return queue<Gradient, ProductTile<128, 128, 8, 8>>(executor, product, op, where);
    }
    return queue<Gradient, ProductTile<64, 128, 8, 8>>(executor, product, op, where);
  }

  template <bool Gradient, class Tile>
  static bool queue(const CudaExecutor& executor, WindowProduct product, const char* op, const std::source_location& where) {
    const int step = Gradient ? product.stride : 1;
    const std::int64_t height = (product.to_height + step - 1) / step, width = (product.to_width + step - 1) / step;
    product.column_tiles = tiles_of(product.columns, Tile::columns);
    product.row_tiles = tiles_of(product.images * height * width, Tile::rows);
    const std::int64_t blocks = std::int64_t{product.column_tiles} * product.row_tiles * step * step;
    if (blocks > INT32_MAX) return false;
    launch(executor, op, &window_product_kernel<Gradient, Tile>, static_cast<std::uint32_t>(blocks), Tile::threads, where,
           product);
    return true;
  }

  template <class Tile>
  static void weight_product(const CudaExecutor& executor, WeightProduct product, const Parts& scratch,
                             const std::source_location& where) {
    const std::int64_t columns = std::int64_t{product.kernel} * product.kernel * product.in_channels;
    const std::int64_t count = product.out_channels * columns;
    product.column_tiles = tiles_of(columns, Tile::columns);
    product.row_tiles = tiles_of(product.out_channels, Tile::rows);
    const std::int64_t tiles = std::int64_t{product.column_tiles} * product.row_tiles;
    const std::int64_t resident = std::int64_t{multiprocessors(executor, where)} * Tile::blocks;
    const std::int64_t room = scratch.memory == nullptr ? 1 : static_cast<std::int64_t>(scratch.bytes / sizeof(float)) / count;
    const std::int64_t parts = parts_of(product.pixels, tiles, resident, room);
    product.pixels_of_part = static_cast<int>((product.pixels + parts - 1) / parts + Tile::depth - 1) / Tile::depth * Tile::depth;
    const int number = tiles_of(product.pixels, product.pixels_of_part);
    float* const dw = product.to;
    const bool add = product.add;
    if (number > 1) product.to = scratch.memory, product.add = false;
    const auto blocks = static_cast<std::uint32_t>(tiles * number);
    launch(executor, "conv2d_weight_gradient", &weight_product_kernel<Tile>, blocks, Tile::threads, where, product);
    if (number > 1) {
      for_each_index(executor, static_cast<std::uint64_t>(count), SumParts{scratch.memory, dw, count, number, add}, where);
    }
  }

  /// Into how many parts the pixels are cut: blocks come in waves of `resident`, and the last wave should be as full as the
  /// others. A part has 256 pixels at least; what its sums cost, written and read again, is as much as some 36 pixels more.
  static std::int64_t parts_of(std::int64_t pixels, std::int64_t tiles, std::int64_t resident, std::int64_t room) {
    constexpr std::int64_t least_pixels = 256, pixels_of_sums = 36;
    const std::int64_t most = (std::min)({pixels / least_pixels, room, 8 * resident / tiles + 1});
    std::int64_t best = 1, best_cost = INT64_MAX;
    for (std::int64_t parts = 1; parts <= most; ++parts) {
      const std::int64_t waves = (tiles * parts + resident - 1) / resident;
      const std::int64_t cost =
          waves * ((pixels + parts - 1) / parts) + (parts > 1 ? tiles * parts * pixels_of_sums / resident : 0);
      if (cost < best_cost) best = parts, best_cost = cost;
    }
    return best;
  }

  static int tiles_of(std::int64_t size, std::int64_t tile) { return static_cast<int>((size + tile - 1) / tile); }
};

}  // namespace mezzo::detail::device
