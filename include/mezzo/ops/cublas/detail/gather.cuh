#pragma once
// Convolution by matrix products: windows of the image are gathered into rows of a matrix, or scattered back from them.
//
// A gathered row holds the window of one pixel of y: [kernel, kernel, in_channels], zeros outside the image.

#include <cstdint>

#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/cuda/detail/vector.cuh>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::cublas {

/// rows[pixel of y, position in the window, channel] = x there; for `for_each_index` over vectors of N channels.
template <int N, class T>
struct GatherWindows {
  Conv2dShape shape;  ///< of the images here: batch counts those of a tile
  const T* x;         ///< the first of those images
  T* rows;

  __device__ void operator()(std::uint64_t index) const {
    const std::int64_t vectors = shape.in_channels / N;
    const auto i = static_cast<std::int64_t>(index);
    const std::int64_t channel = i % vectors * N;
    std::int64_t rest = i / vectors;
    const std::int64_t column_in = rest % shape.kernel;
    rest /= shape.kernel;
    const std::int64_t row_in = rest % shape.kernel;
    rest /= shape.kernel;
    const std::int64_t column = rest % shape.out_width();
    rest /= shape.out_width();
    const std::int64_t row = rest % shape.out_height();
    const std::int64_t image = rest / shape.out_height();
    const std::int64_t from_y = row * shape.stride + row_in - shape.padding;
    const std::int64_t from_x = column * shape.stride + column_in - shape.padding;
    T values[N];
    if (from_y >= 0 && from_y < shape.height && from_x >= 0 && from_x < shape.width) {
      device::load_vector<N>(x + ((image * shape.height + from_y) * shape.width + from_x) * shape.in_channels + channel, values);
    } else {
#pragma unroll
      for (int k = 0; k < N; ++k) values[k] = from_bits<T>(typename element_traits<T>::bits_type{0});
    }
    device::store_vector<N>(rows + i * N, values);
  }
};

/// x[pixel, channel] = the sum of every element of the rows that was gathered from there; rounded once.
template <class Sum, class T>
struct ScatterWindows {
  Conv2dShape shape;
  const Sum* rows;
  T* x;
  bool add;  ///< to what x holds

  __device__ void operator()(std::uint64_t index) const {
    const auto i = static_cast<std::int64_t>(index);
    const std::int64_t channel = i % shape.in_channels;
    std::int64_t rest = i / shape.in_channels;
    const std::int64_t x_in = rest % shape.width;
    rest /= shape.width;
    const std::int64_t y_in = rest % shape.height;
    const std::int64_t image = rest / shape.height;
    Sum sum{0};
    for (std::int64_t r = 0; r < shape.kernel; ++r) {
      const std::int64_t y = y_in + shape.padding - r;
      if (y < 0 || y % shape.stride != 0 || y / shape.stride >= shape.out_height()) continue;
      for (std::int64_t s = 0; s < shape.kernel; ++s) {
        const std::int64_t column = x_in + shape.padding - s;
        if (column < 0 || column % shape.stride != 0 || column / shape.stride >= shape.out_width()) continue;
        const std::int64_t pixel = (image * shape.out_height() + y / shape.stride) * shape.out_width() + column / shape.stride;
        sum += rows[((pixel * shape.kernel + r) * shape.kernel + s) * shape.in_channels + channel];
      }
    }
    if (add) sum += convert<Sum>(x[i]);
    x[i] = convert<T>(sum);
  }
};

/// to[i] = from[i], or to[i] + from[i]; rounded once.
template <class Sum, class T>
struct StoreSums {
  const Sum* from;
  T* to;
  bool add;
  __device__ void operator()(std::uint64_t i) const {
    to[i] = convert<T>(add ? convert<Sum>(to[i]) + from[i] : from[i]);
  }
};

}  // namespace mezzo::detail::cublas
