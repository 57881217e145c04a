#pragma once
// Pooling on CUDA: a thread for each result, neighbouring threads on neighbouring channels.

#include <cstdint>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/cuda/detail/map.cuh>
#include <mezzo/ops/cuda/detail/vector.cuh>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

namespace device {

/// Where a result of a pool stands, and the first element of its window.
struct WindowPlace {
  std::int64_t first;

  __device__ WindowPlace(const Pool2dShape& shape, std::int64_t result) {
    const std::int64_t channel = result % shape.channels;
    std::int64_t rest = result / shape.channels;
    const std::int64_t column = rest % shape.out_width();
    rest /= shape.out_width();
    const std::int64_t row = rest % shape.out_height();
    const std::int64_t image = rest / shape.out_height();
    first = ((image * shape.height + row * shape.stride) * shape.width + column * shape.stride) * shape.channels + channel;
  }
};

/// Where an element of x stands, and the result whose window holds it; none: it is in no window.
struct ElementPlace {
  std::int64_t result = -1;

  __device__ ElementPlace(const Pool2dShape& shape, std::int64_t element) {
    const std::int64_t channel = element % shape.channels;
    std::int64_t rest = element / shape.channels;
    const std::int64_t x = rest % shape.width;
    rest /= shape.width;
    const std::int64_t y = rest % shape.height;
    const std::int64_t image = rest / shape.height;
    const std::int64_t row = y / shape.stride;
    const std::int64_t column = x / shape.stride;
    if (row < shape.out_height() && column < shape.out_width() && y % shape.stride < shape.window &&
        x % shape.stride < shape.window) {
      result = ((image * shape.out_height() + row) * shape.out_width() + column) * shape.channels + channel;
    }
  }
};

/// Index of the first largest element of a window; a NaN counts as the largest.
template <class T>
__device__ std::int64_t largest_in_window(const Pool2dShape& shape, const T* x, std::int64_t first) {
  using Real = accumulation_t<T>;
  std::int64_t best = first;
  Real largest = convert<Real>(x[first]);
  for (std::int64_t i = 0; i < shape.window; ++i) {
    for (std::int64_t j = 0; j < shape.window; ++j) {
      const std::int64_t here = first + (i * shape.width + j) * shape.channels;
      const Real value = convert<Real>(x[here]);
      if (!is_nan(largest) && (value > largest || is_nan(value))) largest = value, best = here;
    }
  }
  return best;
}

template <class T>
struct MaxPool {
  Pool2dShape shape;
  const T* x;
  T* y;
  __device__ void operator()(std::uint64_t i) const {
    const WindowPlace place(shape, static_cast<std::int64_t>(i));
    y[i] = x[largest_in_window(shape, x, place.first)];
  }
};

template <class T>
struct MaxPoolBackward {
  Pool2dShape shape;
  const T* x;
  const T* dy;
  T* dx;
  __device__ void operator()(std::uint64_t i) const {
    const ElementPlace place(shape, static_cast<std::int64_t>(i));
    T value = from_bits<T>(typename element_traits<T>::bits_type{0});
    if (place.result >= 0) {
      const WindowPlace window(shape, place.result);
      if (largest_in_window(shape, x, window.first) == static_cast<std::int64_t>(i)) value = dy[place.result];
    }
    dx[i] = value;
  }
};

template <class T>
struct AvgPool {
  Pool2dShape shape;
  const T* x;
  T* y;
  __device__ void operator()(std::uint64_t index) const {
    using Real = accumulation_t<T>;
    const WindowPlace place(shape, static_cast<std::int64_t>(index));
    Real sum{0};
    for (std::int64_t i = 0; i < shape.window; ++i) {
      for (std::int64_t j = 0; j < shape.window; ++j)
        sum += convert<Real>(x[place.first + (i * shape.width + j) * shape.channels]);
    }
    y[index] = convert<T>(sum / static_cast<Real>(shape.window * shape.window));
  }
};

template <class T>
struct AvgPoolBackward {
  Pool2dShape shape;
  const T* dy;
  T* dx;
  __device__ void operator()(std::uint64_t i) const {
    using Real = accumulation_t<T>;
    const ElementPlace place(shape, static_cast<std::int64_t>(i));
    const Real value =
        place.result >= 0 ? convert<Real>(dy[place.result]) / static_cast<Real>(shape.window * shape.window) : Real{0};
    dx[i] = convert<T>(value);
  }
};

/// One image and N neighbouring channels.
template <int N, class T>
struct GlobalAvgPool {
  std::int64_t pixels;
  std::int64_t channels;
  const T* x;
  T* y;
  __device__ void operator()(std::uint64_t index) const {
    using Real = accumulation_t<T>;
    const std::int64_t vectors = channels / N;
    const std::int64_t image = static_cast<std::int64_t>(index) / vectors;
    const std::int64_t channel = static_cast<std::int64_t>(index) % vectors * N;
    const T* const from = x + image * pixels * channels + channel;
    Real sum[N] = {};
#pragma unroll 4
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      T values[N];
      load_vector<N>(from + pixel * channels, values);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += convert<Real>(values[i]);
    }
    T means[N];
#pragma unroll
    for (int i = 0; i < N; ++i) means[i] = convert<T>(sum[i] / static_cast<Real>(pixels));
    store_vector<N>(y + image * channels + channel, means);
  }
};

/// One pixel and N neighbouring channels.
template <int N, class T>
struct GlobalAvgPoolBackward {
  std::int64_t pixels;
  std::int64_t channels;
  const T* dy;
  T* dx;
  __device__ void operator()(std::uint64_t index) const {
    using Real = accumulation_t<T>;
    const std::int64_t vectors = channels / N;
    const std::int64_t row = static_cast<std::int64_t>(index) / vectors;
    const std::int64_t channel = static_cast<std::int64_t>(index) % vectors * N;
    T values[N];
    load_vector<N>(dy + row / pixels * channels + channel, values);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = convert<T>(convert<Real>(values[i]) / static_cast<Real>(pixels));
    store_vector<N>(dx + row * channels + channel, values);
  }
};

inline std::int64_t results_of(const Pool2dShape& shape) {
  return shape.batch * shape.out_height() * shape.out_width() * shape.channels;
}
inline std::int64_t elements_of(const Pool2dShape& shape) { return shape.batch * shape.height * shape.width * shape.channels; }

}  // namespace device

template <>
struct Backend<CudaExecutor, op::max_pool2d> {
  template <class T>
  static void forward(Workspace<CudaExecutor>& workspace, const OpSite& site, const Pool2dShape& shape, const T* x, T* y) {
    launch_for_each_index(workspace.executor(), site.op, static_cast<std::uint64_t>(device::results_of(shape)),
                          device::MaxPool<T>{shape, x, y}, site.where);
  }
  template <class T>
  static void backward(Workspace<CudaExecutor>& workspace, const OpSite& site, const Pool2dShape& shape, const T* x, const T* dy,
                       T* dx) {
    launch_for_each_index(workspace.executor(), site.op, static_cast<std::uint64_t>(device::elements_of(shape)),
                          device::MaxPoolBackward<T>{shape, x, dy, dx}, site.where);
  }
};

template <>
struct Backend<CudaExecutor, op::avg_pool2d> {
  template <class T>
  static void forward(Workspace<CudaExecutor>& workspace, const OpSite& site, const Pool2dShape& shape, const T* x, T* y) {
    launch_for_each_index(workspace.executor(), site.op, static_cast<std::uint64_t>(device::results_of(shape)),
                          device::AvgPool<T>{shape, x, y}, site.where);
  }
  template <class T>
  static void backward(Workspace<CudaExecutor>& workspace, const OpSite& site, const Pool2dShape& shape, const T* dy, T* dx) {
    launch_for_each_index(workspace.executor(), site.op, static_cast<std::uint64_t>(device::elements_of(shape)),
                          device::AvgPoolBackward<T>{shape, dy, dx}, site.where);
  }
};

template <>
struct Backend<CudaExecutor, op::adaptive_avg_pool2d> {
  template <class T>
  static void forward(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x, T* y) {
    run<device::GlobalAvgPool, T>(workspace, site, shape, shape.batch, x, y);
  }
  template <class T>
  static void backward(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* dy, T* dx) {
    run<device::GlobalAvgPoolBackward, T>(workspace, site, shape, shape.batch * shape.height * shape.width, dy, dx);
  }

 private:
  template <template <int, class> class Functor, class T>
  static void run(const Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, std::int64_t rows,
                  const T* in, T* out) {
    constexpr int width = device::vector_width;
    const std::int64_t pixels = shape.height * shape.width;
    const std::int64_t count = rows * shape.channels;
    if (shape.channels % width == 0 && device::is_aligned(in) && device::is_aligned(out)) {
      launch_for_each_index(workspace.executor(), site.op, static_cast<std::uint64_t>(count / width),
                            Functor<width, T>{pixels, shape.channels, in, out}, site.where);
    } else {
      launch_for_each_index(workspace.executor(), site.op, static_cast<std::uint64_t>(count),
                            Functor<1, T>{pixels, shape.channels, in, out}, site.where);
    }
  }
};

}  // namespace mezzo::detail
