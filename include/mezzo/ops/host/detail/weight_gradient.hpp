#pragma once
// The weight gradient of a convolution: sums over all pixels, in parts whose number the shape decides.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mezzo/executor/memory.hpp>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/host/detail/fit.hpp>
#include <mezzo/ops/host/detail/padded.hpp>
#include <mezzo/ops/host/detail/tiles.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::host {

/// The batch is cut into parts; each sums its images in order into a gradient of its own, and these are added in order.
template <class Sum>
class WeightGradient {
 public:
  WeightGradient(const Conv2dShape& shape, std::int64_t slots, std::byte* memory) : shape_(shape) {
    padded_ = {.height = shape.height, .width = shape.width, .channels = shape.in_channels,
               .top = shape.padding, .left = shape.padding,
               .padded_height = shape.height + 2 * shape.padding, .padded_width = shape.width + 2 * shape.padding};
    pixels_ = shape.out_height() * shape.out_width();
    run_ = shape.kernel * shape.in_channels;
    padded_run_ = (run_ + columns - 1) / columns * columns;
    const std::int64_t image = padded_.elements() + pixels_ * shape.out_channels;
    // Each group of images reads and writes the whole gradient: a large one is worth more images than the cache holds.
    const std::int64_t gradient_bytes = part_elements() * static_cast<std::int64_t>(sizeof(Sum));
    group_ = images_at_once(shape.batch, pixels_, image * static_cast<std::int64_t>(sizeof(Sum)), (std::max<std::int64_t>)(256 * 1024, gradient_bytes / 4));

    // Enough parts to share among threads, unless the gradients themselves are large.
    constexpr std::int64_t most_bytes = 32 * 1024 * 1024;
    const std::int64_t groups = (shape.batch + group_ - 1) / group_;
    const std::int64_t fitting = most_bytes / gradient_bytes;
    parts_ = std::clamp<std::int64_t>((std::min<std::int64_t>)(groups, std::clamp<std::int64_t>(fitting, 2, 16)), 1, 16);
    slots_ = std::clamp<std::int64_t>(parts_, 1, slots);

    Arena arena(memory);
    gradients_ = arena.take<Sum>(static_cast<std::size_t>(parts_ * part_elements()), 64);
    images_ = arena.take<Sum>(static_cast<std::size_t>(slots_ * slot_elements()), 64);
    from_ = arena.take<std::ptrdiff_t>(static_cast<std::size_t>(group_ * pixels_), 64);
    bytes_ = arena.bytes();
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  template <class X, class DY, class DW>
  void run(const X* x, const DY* dy, DW* dw, Accumulate accumulate) const {
    fill_table();
    std::fill_n(gradients_, parts_ * part_elements(), Sum{0});
    std::fill_n(images_, slots_ * slot_elements(), Sum{0});  // borders stay zero from here on
    const std::int64_t groups = (shape_.batch + group_ - 1) / group_;
    parallel_for(parts_, slots_, [&](std::int64_t part, std::int64_t slot) {
      for (std::int64_t group = groups * part / parts_; group < groups * (part + 1) / parts_; ++group) {
        add_group(group * group_, x, dy, images_ + slot * slot_elements(), gradients_ + part * part_elements());
      }
    });
    parallel_for(shape_.out_channels, threads(), [&](std::int64_t channel, std::int64_t) {
      for (std::int64_t ky = 0; ky < shape_.kernel; ++ky) {
        Sum* const sum = gradients_ + (channel * shape_.kernel + ky) * padded_run_;
        vectorised([=, this]() MEZZO_INLINE_BODY {
          for (std::int64_t part = 1; part < parts_; ++part) {
            for (std::int64_t k = 0; k < run_; ++k) sum[k] += sum[part * part_elements() + k];
          }
        });
        store_row(sum, dw + (channel * shape_.kernel + ky) * run_, run_, accumulate);
      }
    });
  }

 private:
  static constexpr std::int64_t columns = tile_columns<Sum>;

  [[nodiscard]] std::int64_t part_elements() const { return shape_.out_channels * shape_.kernel * padded_run_; }
  /// The last window of the last image may be read beyond its end, by less than a tile's columns.
  [[nodiscard]] std::int64_t images_elements() const { return group_ * padded_.elements() + columns; }
  [[nodiscard]] std::int64_t slot_elements() const { return images_elements() + group_ * pixels_ * shape_.out_channels; }

  void fill_table() const {
    std::ptrdiff_t* from = from_;
    for (std::int64_t image = 0; image < group_; ++image) {
      for (std::int64_t y = 0; y < shape_.out_height(); ++y) {
        for (std::int64_t x = 0; x < shape_.out_width(); ++x) {
          *from++ = image * padded_.elements() + y * shape_.stride * padded_.row() + x * shape_.stride * padded_.channels;
        }
      }
    }
  }

  template <class X, class DY>
  void add_group(std::int64_t first, const X* x, const DY* dy, Sum* images, Sum* gradient) const {
    const std::int64_t count = (std::min)(group_, shape_.batch - first);
    for (std::int64_t i = 0; i < count; ++i) {
      padded_.load(x + (first + i) * padded_.source_elements(), images + i * padded_.elements());
    }
    Sum* const outputs = images + images_elements();
    widen_row(dy + first * pixels_ * shape_.out_channels, outputs, count * pixels_ * shape_.out_channels);

    constexpr std::int64_t at_once = 192;  // pixels: their rows of x and dy stay in the L1 cache for all tiles
    for (std::int64_t pixel = 0; pixel < count * pixels_; pixel += at_once) {
      const std::int64_t pixels = (std::min)(at_once, count * pixels_ - pixel);
      for (std::int64_t ky = 0; ky < shape_.kernel; ++ky) {
        for (std::int64_t k = 0; k < run_; k += columns) {
          for_each_tile(shape_.out_channels, [&](std::int64_t channel, auto rows) {
            constexpr std::int64_t channels = decltype(rows)::value;
            alignas(64) Sum tile[channels * columns];
            Sum* const to = gradient + (channel * shape_.kernel + ky) * padded_run_ + k;
            const std::int64_t to_stride = shape_.kernel * padded_run_;
            for (std::int64_t r = 0; r < channels; ++r) std::copy_n(to + r * to_stride, columns, tile + r * columns);
            outer_tile<channels>(images + ky * padded_.row() + k, from_ + pixel, outputs + pixel * shape_.out_channels + channel,
                                 shape_.out_channels, pixels, tile);
            for (std::int64_t r = 0; r < channels; ++r) std::copy_n(tile + r * columns, columns, to + r * to_stride);
          });
        }
      }
    }
  }

  Conv2dShape shape_;
  Padded padded_;
  std::int64_t pixels_ = 0;
  std::int64_t run_ = 0;         ///< contiguous elements of a window's row, and of a weight's
  std::int64_t padded_run_ = 0;  ///< the same, in whole tiles
  std::int64_t group_ = 0;
  std::int64_t parts_ = 0;
  std::int64_t slots_ = 0;
  Sum* gradients_ = nullptr;
  Sum* images_ = nullptr;
  std::ptrdiff_t* from_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace mezzo::detail::host
