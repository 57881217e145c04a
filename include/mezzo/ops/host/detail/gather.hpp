#pragma once
// Convolution as a gather: each destination pixel is a window of the padded source times packed weights.

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

/// A forward convolution or a data gradient, laid out in scratch.
///
/// A phase is a set of destination pixels that meet the same weights. The forward pass has one. In the data gradient a
/// pixel meets the weights whose position has its own remainder modulo the stride: stride * stride phases, of which those
/// beyond the kernel meet none and are left out.
template <class Sum>
class Gather {
 public:
  static Gather forward(const Conv2dShape& shape, std::int64_t slots, std::byte* memory) {
    return Gather(shape, false, slots, memory);
  }
  static Gather data_gradient(const Conv2dShape& shape, std::int64_t slots, std::byte* memory) {
    return Gather(shape, true, slots, memory);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  template <class Source, class W, class Destination>
  void run(const Source* source, const W* w, Destination* destination, Accumulate accumulate) const {
    fill_tables();
    parallel_for(phases() * phases() * panels_, threads(), [&](std::int64_t i, std::int64_t) {
      const std::int64_t phase = i / panels_;
      pack(w, phase / phases(), phase % phases(), i % panels_);
    });
    std::fill_n(images_, slots_ * slot_elements(), Sum{0});  // borders stay zero from here on
    const std::int64_t groups = (shape_.batch + group_ - 1) / group_;
    parallel_for(groups, slots_, [&](std::int64_t group, std::int64_t slot) {
      Sum* const images = images_ + slot * slot_elements();
      const std::int64_t first = group * group_;
      const std::int64_t count = (std::min)(group_, shape_.batch - first);
      for (std::int64_t i = 0; i < count; ++i) {
        padded_.load(source + (first + i) * padded_.source_elements(), images + i * padded_.elements());
      }
      Destination* const to = destination + first * destination_elements();
      if (gradient_ && shape_.stride > shape_.kernel && accumulate == Accumulate::no) {  // there are pixels that no window reads
        std::fill_n(to, count * destination_elements(), convert<Destination>(0.f));
      }
      for (std::int64_t vertical = 0; vertical < phases(); ++vertical) {
        for (std::int64_t horizontal = 0; horizontal < phases(); ++horizontal) {
          run_phase(vertical, horizontal, count, slot, to, accumulate);
        }
      }
    });
  }

 private:
  static constexpr std::int64_t columns = tile_columns<Sum>;

  Gather(const Conv2dShape& shape, bool gradient, std::int64_t slots, std::byte* memory) : shape_(shape), gradient_(gradient) {
    if (gradient) {
      // Rows of dy that a pixel in row q * stride + remainder - padding meets: q down to q - (taps - 1).
      const std::int64_t border = taps(0) - 1;
      padded_ = {.height = shape.out_height(), .width = shape.out_width(), .channels = shape.out_channels,
                 .top = border, .left = border,
                 .padded_height = (shape.height - 1 + shape.padding) / shape.stride + 1 + border,
                 .padded_width = (shape.width - 1 + shape.padding) / shape.stride + 1 + border};
      to_height_ = shape.height, to_width_ = shape.width, to_channels_ = shape.in_channels;
    } else {
      padded_ = {.height = shape.height, .width = shape.width, .channels = shape.in_channels,
                 .top = shape.padding, .left = shape.padding,
                 .padded_height = shape.height + 2 * shape.padding, .padded_width = shape.width + 2 * shape.padding};
      to_height_ = shape.out_height(), to_width_ = shape.out_width(), to_channels_ = shape.out_channels;
    }
    const std::int64_t pixels = to_height_ * to_width_;
    group_ = images_at_once(shape.batch, pixels, padded_.elements() * static_cast<std::int64_t>(sizeof(Sum)));
    slots_ = std::clamp<std::int64_t>((shape.batch + group_ - 1) / group_, 1, slots);
    panels_ = (to_channels_ + columns - 1) / columns;

    Arena arena(memory);
    images_ = arena.take<Sum>(static_cast<std::size_t>(slots_ * slot_elements()), 64);
    packed_ = arena.take<Sum>(static_cast<std::size_t>(shape.kernel * shape.kernel * padded_.channels * panels_ * columns), 64);
    from_ = arena.take<std::ptrdiff_t>(static_cast<std::size_t>(group_ * pixels), 64);
    to_ = arena.take<std::ptrdiff_t>(static_cast<std::size_t>(group_ * pixels), 64);
    bytes_ = arena.bytes();
  }

  [[nodiscard]] std::int64_t slot_elements() const { return group_ * padded_.elements(); }
  [[nodiscard]] std::int64_t destination_elements() const { return to_height_ * to_width_ * to_channels_; }
  /// In one direction.
  [[nodiscard]] std::int64_t phases() const { return gradient_ ? (std::min)(shape_.stride, shape_.kernel) : 1; }

  /// Weights along one direction that the pixels of a phase meet.
  [[nodiscard]] std::int64_t taps(std::int64_t phase) const {
    return gradient_ ? (shape_.kernel - phase + shape_.stride - 1) / shape_.stride : shape_.kernel;
  }

  /// Taps of all phases before this one, in one direction: phases partition the kernel's positions.
  [[nodiscard]] std::int64_t taps_before(std::int64_t phase) const { return count_before(shape_.kernel, phase); }

  /// Numbers in [0, extent) whose remainder modulo the stride is less than `phase`.
  [[nodiscard]] std::int64_t count_before(std::int64_t extent, std::int64_t phase) const {
    return extent / shape_.stride * phase + (std::min)(extent % shape_.stride, phase);
  }

  /// Rows (or columns) of the destination in a phase: padded positions with this remainder, inside the image.
  struct Range {
    std::int64_t first;  ///< of q, the padded position divided by the stride
    std::int64_t count;
  };
  [[nodiscard]] Range positions(std::int64_t phase, std::int64_t extent) const {
    if (!gradient_) return {0, extent};
    const std::int64_t s = shape_.stride;
    const std::int64_t first = (std::max<std::int64_t>)(0, (shape_.padding - phase + s - 1) / s);
    const std::int64_t last = extent - 1 + shape_.padding - phase;  // of q * stride
    return {first, last < first * s ? 0 : last / s - first + 1};
  }

  [[nodiscard]] std::int64_t phase_pixels(std::int64_t vertical, std::int64_t horizontal) const {
    return positions(vertical, to_height_).count * positions(horizontal, to_width_).count;
  }
  /// Positions in all phases before this one, in one direction.
  [[nodiscard]] std::int64_t positions_before(std::int64_t phase, std::int64_t extent) const {
    return count_before(extent + shape_.padding, phase) - count_before(shape_.padding, phase);
  }
  [[nodiscard]] std::int64_t pixels_before(std::int64_t vertical, std::int64_t horizontal) const {
    if (!gradient_) return 0;
    const std::int64_t above = positions_before(vertical, to_height_) * positions_before(phases(), to_width_);
    return group_ * (above + positions(vertical, to_height_).count * positions_before(horizontal, to_width_));
  }

  [[nodiscard]] Sum* phase_panels(std::int64_t vertical, std::int64_t horizontal) const {
    std::int64_t before = taps_before(vertical) * shape_.kernel + taps(vertical) * taps_before(horizontal);
    return packed_ + before * padded_.channels * panels_ * columns;
  }

  /// Where each pixel of a group reads and writes, phase by phase, image by image.
  void fill_tables() const {
    std::ptrdiff_t* from = from_;
    std::ptrdiff_t* to = to_;
    const std::int64_t step = gradient_ ? 1 : shape_.stride;
    for (std::int64_t v = 0; v < phases(); ++v) {
      for (std::int64_t h = 0; h < phases(); ++h) {
        const Range rows = positions(v, to_height_);
        const Range cols = positions(h, to_width_);
        const std::int64_t shift_y = gradient_ ? taps(0) - taps(v) : 0;
        const std::int64_t shift_x = gradient_ ? taps(0) - taps(h) : 0;
        for (std::int64_t image = 0; image < group_; ++image) {
          for (std::int64_t qy = rows.first; qy < rows.first + rows.count; ++qy) {
            for (std::int64_t qx = cols.first; qx < cols.first + cols.count; ++qx) {
              const std::int64_t y = gradient_ ? qy * shape_.stride + v - shape_.padding : qy;
              const std::int64_t x = gradient_ ? qx * shape_.stride + h - shape_.padding : qx;
              *from++ = image * padded_.elements() + (qy * step + shift_y) * padded_.row() + (qx * step + shift_x) * padded_.channels;
              *to++ = image * destination_elements() + (y * to_width_ + x) * to_channels_;
            }
          }
        }
      }
    }
  }

  /// Copies the weights of one phase and panel in the order in which a window meets them; zeros beyond the last channel.
  template <class W>
  void pack(const W* w, std::int64_t vertical, std::int64_t horizontal, std::int64_t panel) const {
    const std::int64_t kernel = shape_.kernel;
    const std::int64_t rows = taps(vertical);
    const std::int64_t cols = taps(horizontal);
    const std::int64_t first = panel * columns;
    const std::int64_t width = (std::min)(columns, to_channels_ - first);
    Sum* out = phase_panels(vertical, horizontal) + panel * rows * cols * padded_.channels * columns;
    if (width < columns) std::fill_n(out, rows * cols * padded_.channels * columns, Sum{0});
    if (gradient_) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t ky = vertical + shape_.stride * (rows - 1 - row);
        for (std::int64_t col = 0; col < cols; ++col) {
          const std::int64_t kx = horizontal + shape_.stride * (cols - 1 - col);
          for (std::int64_t channel = 0; channel < padded_.channels; ++channel, out += columns) {
            widen_row(w + ((channel * kernel + ky) * kernel + kx) * shape_.in_channels + first, out, width);
          }
        }
      }
    } else {  // a transpose: the rows of w are contiguous, the panel wants their elements side by side
      constexpr std::int64_t at_once = 64;
      const std::int64_t length = kernel * kernel * shape_.in_channels;
      for (std::int64_t k = 0; k < length; k += at_once) {
        const std::int64_t count = (std::min)(at_once, length - k);
        for (std::int64_t c = 0; c < width; ++c) {
          Sum buffer[at_once];
          widen_row(w + (first + c) * length + k, buffer, count);
          for (std::int64_t i = 0; i < count; ++i) out[(k + i) * columns + c] = buffer[i];
        }
      }
    }
  }

  template <class Destination>
  void run_phase(std::int64_t vertical, std::int64_t horizontal, std::int64_t images, std::int64_t slot, Destination* destination,
                 Accumulate accumulate) const {
    const Window window{.rows = taps(vertical), .row_stride = padded_.row(), .run = taps(horizontal) * padded_.channels};
    const std::int64_t pixels = phase_pixels(vertical, horizontal) * images;
    const std::ptrdiff_t* const from = from_ + pixels_before(vertical, horizontal);
    const std::ptrdiff_t* const to = to_ + pixels_before(vertical, horizontal);
    const Sum* const source = images_ + slot * slot_elements();
    const Sum* panel = phase_panels(vertical, horizontal);
    for (std::int64_t p = 0; p < panels_; ++p, panel += window.rows * window.run * columns) {
      const std::int64_t width = (std::min)(columns, to_channels_ - p * columns);
      for_each_tile(pixels, [&](std::int64_t pixel, auto rows) {
        constexpr std::int64_t count = decltype(rows)::value;
        alignas(64) Sum tile[count * columns];
        window_tile<count>(source, from + pixel, window, panel, tile);
        store_tile<count>(tile, destination + p * columns, to + pixel, width, accumulate);
      });
    }
  }

  Conv2dShape shape_;
  bool gradient_;
  Padded padded_;
  std::int64_t to_height_ = 0;
  std::int64_t to_width_ = 0;
  std::int64_t to_channels_ = 0;
  std::int64_t group_ = 0;
  std::int64_t slots_ = 0;
  std::int64_t panels_ = 0;
  Sum* images_ = nullptr;
  Sum* packed_ = nullptr;
  std::ptrdiff_t* from_ = nullptr;
  std::ptrdiff_t* to_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace mezzo::detail::host
