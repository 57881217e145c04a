#pragma once
// Pooling on the host.

#include <algorithm>
#include <cstdint>

#include <mezzo/executor/host.hpp>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/parallel.hpp>
#include <mezzo/ops/host/detail/rows.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

namespace host {

/// Calls `body(window's first element, its element of y)` for each window: those of channel 0, the other channels lie behind.
template <class Body>
void for_each_window(const Pool2dShape& shape, Body&& body) {
  const std::int64_t rows = shape.out_height();
  const std::int64_t columns = shape.out_width();
  parallel_for(shape.batch, threads(), [&](std::int64_t image, std::int64_t) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t x = ((image * shape.height + row * shape.stride) * shape.width + column * shape.stride) * shape.channels;
        const std::int64_t y = ((image * rows + row) * columns + column) * shape.channels;
        body(x, y);
      }
    }
  });
}

/// Offset of element (i, j) of a window from its first.
inline std::int64_t in_window(const Pool2dShape& shape, std::int64_t i, std::int64_t j) {
  return (i * shape.width + j) * shape.channels;
}

}  // namespace host

template <>
struct Backend<HostExecutor, op::max_pool2d> {
  template <class T>
  static void forward(Workspace<HostExecutor>&, const OpSite&, const Pool2dShape& shape, const T* x, T* y) {
    host::for_each_window(shape, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t c = 0; c < shape.channels; ++c) y[to + c] = x[from + largest(shape, x + from, c)];
    });
  }

  template <class T>
  static void backward(Workspace<HostExecutor>&, const OpSite&, const Pool2dShape& shape, const T* x, const T* dy, T* dx) {
    std::fill_n(dx, shape.batch * shape.height * shape.width * shape.channels, convert<T>(0.f));
    host::for_each_window(shape, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t c = 0; c < shape.channels; ++c) dx[from + largest(shape, x + from, c)] = dy[to + c];
    });
  }

 private:
  /// Offset of the first largest element of a channel; a NaN counts as the largest.
  template <class T>
  static std::int64_t largest(const Pool2dShape& shape, const T* window, std::int64_t channel) {
    using Sum = accumulation_t<T>;
    std::int64_t best = channel;
    Sum value = convert<Sum>(window[best]);
    for (std::int64_t i = 0; i < shape.window; ++i) {
      for (std::int64_t j = 0; j < shape.window; ++j) {
        const std::int64_t offset = host::in_window(shape, i, j) + channel;
        const Sum other = convert<Sum>(window[offset]);
        if (other > value || (is_nan(other) && !is_nan(value))) best = offset, value = other;
      }
    }
    return best;
  }
};

template <>
struct Backend<HostExecutor, op::avg_pool2d> {
  template <class T>
  static void forward(Workspace<HostExecutor>&, const OpSite&, const Pool2dShape& shape, const T* x, T* y) {
    using Sum = accumulation_t<T>;
    const Sum count = static_cast<Sum>(shape.window * shape.window);
    host::for_each_window(shape, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        Sum sum{0};
        for (std::int64_t i = 0; i < shape.window; ++i) {
          for (std::int64_t j = 0; j < shape.window; ++j) sum += convert<Sum>(x[from + host::in_window(shape, i, j) + c]);
        }
        y[to + c] = convert<T>(sum / count);
      }
    });
  }

  template <class T>
  static void backward(Workspace<HostExecutor>&, const OpSite&, const Pool2dShape& shape, const T* dy, T* dx) {
    using Sum = accumulation_t<T>;
    const Sum count = static_cast<Sum>(shape.window * shape.window);
    std::fill_n(dx, shape.batch * shape.height * shape.width * shape.channels, convert<T>(0.f));
    host::for_each_window(shape, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        const T share = convert<T>(convert<Sum>(dy[to + c]) / count);
        for (std::int64_t i = 0; i < shape.window; ++i) {
          for (std::int64_t j = 0; j < shape.window; ++j) dx[from + host::in_window(shape, i, j) + c] = share;
        }
      }
    });
  }
};

template <>
struct Backend<HostExecutor, op::adaptive_avg_pool2d> {
  template <class T>
  static void forward(Workspace<HostExecutor>&, const OpSite&, const ImageShape& shape, const T* x, T* y) {
    using Sum = accumulation_t<T>;
    const std::int64_t pixels = shape.height * shape.width;
    host::parallel_for(shape.batch, host::threads(), [&](std::int64_t image, std::int64_t) {
      constexpr std::int64_t at_once = 64;
      for (std::int64_t first = 0; first < shape.channels; first += at_once) {
        const std::int64_t width = (std::min)(at_once, shape.channels - first);
        const T* const from = x + image * pixels * shape.channels + first;
        Sum sum[at_once] = {};
        Sum row[at_once];
        for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
          host::widen_row(from + pixel * shape.channels, row, width);
          for (std::int64_t c = 0; c < width; ++c) sum[c] += row[c];
        }
        for (std::int64_t c = 0; c < width; ++c) sum[c] /= static_cast<Sum>(pixels);
        host::narrow_row(sum, y + image * shape.channels + first, width);
      }
    });
  }

  template <class T>
  static void backward(Workspace<HostExecutor>&, const OpSite&, const ImageShape& shape, const T* dy, T* dx) {
    using Sum = accumulation_t<T>;
    const std::int64_t pixels = shape.height * shape.width;
    host::parallel_for(shape.batch, host::threads(), [&](std::int64_t image, std::int64_t) {
      T* const to = dx + image * pixels * shape.channels;
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        to[c] = convert<T>(convert<Sum>(dy[image * shape.channels + c]) / static_cast<Sum>(pixels));
      }
      for (std::int64_t pixel = 1; pixel < pixels; ++pixel) std::copy_n(to, shape.channels, to + pixel * shape.channels);
    });
  }
};

}  // namespace mezzo::detail
