#pragma once
// Convolution by matrix products: windows of the image are gathered into rows of a matrix, or scattered back from them.
//
// A gathered row holds the window of one pixel of y: [kernel, kernel, in_channels], zeros outside the image.

#include <cstdint>

#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/cuda/detail/vector.cuh>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::cublas {

/// rows[pixel of y, position in the window, channel] = x there; for `for_each_index` over vectors of N channels. Index holds
/// their number: places take divisions, which are dear in 64 bits.
template <int N, class Index, class T>
struct GatherWindows {
  Conv2dShape shape;  ///< of the images here: batch counts those of a tile
  const T* x;         ///< the first of those images
  T* rows;

  __device__ void operator()(std::uint64_t index) const {
    auto rest = static_cast<Index>(index);
    const auto next = [&](std::int64_t size) {
      const Index quotient = rest / static_cast<Index>(size);
      const Index place = rest - quotient * static_cast<Index>(size);
      rest = quotient;
      return static_cast<std::int64_t>(place);
    };
    const std::int64_t channel = next(shape.in_channels / N) * N;
    const std::int64_t column_in = next(shape.kernel);
    const std::int64_t row_in = next(shape.kernel);
    const std::int64_t column = next(shape.out_width());
    const std::int64_t row = next(shape.out_height());
    const auto image = static_cast<std::int64_t>(rest);
    const std::int64_t from_y = row * shape.stride + row_in - shape.padding;
    const std::int64_t from_x = column * shape.stride + column_in - shape.padding;
    T values[N];
    if (from_y >= 0 && from_y < shape.height && from_x >= 0 && from_x < shape.width) {
      device::load_vector<N>(x + ((image * shape.height + from_y) * shape.width + from_x) * shape.in_channels + channel, values);
    } else {
#pragma unroll
      for (int k = 0; k < N; ++k) values[k] = from_bits<T>(typename element_traits<T>::bits_type{0});
    }
    device::store_vector<N>(rows + index * N, values);
  }
};

/// x[pixel, channel] = the sum of every element of the rows that was gathered from there; rounded once.
template <class Index, class Sum, class T>
struct ScatterWindows {
  Conv2dShape shape;
  const Sum* rows;
  T* x;
  bool add;  ///< to what x holds

  __device__ void operator()(std::uint64_t index) const {
    const auto channels = static_cast<Index>(shape.in_channels), width = static_cast<Index>(shape.width),
               height = static_cast<Index>(shape.height);
    const auto kernel = static_cast<Index>(shape.kernel), stride = static_cast<Index>(shape.stride),
               padding = static_cast<Index>(shape.padding);
    const auto out_width = static_cast<Index>(shape.out_width()), out_height = static_cast<Index>(shape.out_height());
    const auto i = static_cast<Index>(index);
    const Index pixel_in = i / channels, row_in = pixel_in / width;
    const Index channel = i - pixel_in * channels, x_in = pixel_in - row_in * width;
    const Index image = row_in / height, y_in = row_in - image * height;
    Sum sum{0};
    for (Index r = 0; r < kernel && r <= y_in + padding; ++r) {
      const Index y = (y_in + padding - r) / stride;
      if (y * stride != y_in + padding - r || y >= out_height) continue;
      for (Index s = 0; s < kernel && s <= x_in + padding; ++s) {
        const Index column = (x_in + padding - s) / stride;
        if (column * stride != x_in + padding - s || column >= out_width) continue;
        const Index pixel = (image * out_height + y) * out_width + column;
        sum += rows[((std::uint64_t{pixel} * kernel + r) * kernel + s) * channels + channel];
      }
    }
    if (add) sum += convert<Sum>(x[index]);
    x[index] = convert<T>(sum);
  }
};

}  // namespace mezzo::detail::cublas
