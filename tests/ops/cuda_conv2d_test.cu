// Convolution on CUDA: both back ends against the host's, in double.
#include <mezzo/ops/ops.cuh>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;
using mezzo::Conv2dShape;
using mezzo::CudaExecutor;

std::size_t product_of(std::initializer_list<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return static_cast<std::size_t>(count);
}
std::size_t x_size(const Conv2dShape& s) { return product_of({s.batch, s.height, s.width, s.in_channels}); }
std::size_t w_size(const Conv2dShape& s) { return product_of({s.out_channels, s.kernel, s.kernel, s.in_channels}); }
std::size_t y_size(const Conv2dShape& s) { return product_of({s.batch, s.out_height(), s.out_width(), s.out_channels}); }

template <class T>
std::vector<double> widened(const std::vector<T>& values, bool magnitudes) {
  std::vector<double> wide;
  for (const T value : values) wide.push_back(magnitudes ? std::abs(mezzo::convert<double>(value)) : mezzo::convert<double>(value));
  return wide;
}

/// The three results with the sums of their products' magnitudes, from the host in double.
template <class T>
struct Reference {
  std::vector<double> y, dx, dw;
};
template <class T>
Reference<T> reference(const Conv2dShape& shape, const std::vector<T>& x, const std::vector<T>& w, const std::vector<T>& dy, bool magnitudes) {
  using Policy = policy_of<double>;
  const mezzo::HostExecutor host;
  mezzo::Workspace workspace{host, mezzo::conv2d_workspace_bytes<double>(host, shape)};
  Reference<T> result{std::vector<double>(dy.size()), std::vector<double>(x.size()), std::vector<double>(w.size())};
  const auto wide_x = widened(x, magnitudes), wide_w = widened(w, magnitudes), wide_dy = widened(dy, magnitudes);
  mezzo::conv2d<Policy>(workspace, shape, wide_x, wide_w, result.y);
  mezzo::conv2d_data_gradient<Policy>(workspace, shape, wide_dy, wide_w, result.dx);
  mezzo::conv2d_weight_gradient<Policy>(workspace, shape, wide_x, wide_dy, result.dw);
  return result;
}

/// Sums of at most `terms` products, for check_sums. The reference's own error, in double, is far below any bound but that
/// of double itself, which gets twice the terms.
std::vector<Sums> sums_of(const std::vector<double>& values, const std::vector<double>& magnitudes, std::int64_t terms) {
  std::vector<Sums> sums;
  for (std::size_t i = 0; i < values.size(); ++i) sums.push_back({values[i], magnitudes[i], static_cast<std::size_t>(2 * terms + 2)});
  return sums;
}

/// Runs all passes of a back end and compares.
template <class Engine, class T>
void check_engine(const CudaExecutor& executor, const Conv2dShape& shape, std::size_t scratch) {
  CAPTURE(shape.batch);
  CAPTURE(shape.height);
  CAPTURE(shape.in_channels);
  CAPTURE(shape.out_channels);
  CAPTURE(shape.kernel);
  CAPTURE(shape.stride);
  CAPTURE(scratch);
  using Sum = sum_of_t<T>;
  const auto where = std::source_location::current();
  const auto x = random_values<T>(x_size(shape), 1), w = random_values<T>(w_size(shape), 2), dy = random_values<T>(y_size(shape), 3);
  const auto exactly = reference(shape, x, w, dy, false), magnitudes = reference(shape, x, w, dy, true);
  const std::int64_t window = shape.kernel * shape.kernel;
  const auto y_sums = sums_of(exactly.y, magnitudes.y, window * shape.in_channels);
  auto dx_sums = sums_of(exactly.dx, magnitudes.dx, window * shape.out_channels);
  auto dw_sums = sums_of(exactly.dw, magnitudes.dw, shape.batch * shape.out_height() * shape.out_width());

  mezzo::Workspace workspace{executor, scratch};
  const T nan = mezzo::element_limits<T>::quiet_nan();
  const Buffer<T> in(executor, x), weights(executor, w), gradient(executor, dy);
  const Buffer<T> y(executor, std::vector<T>(dy.size(), nan)), dx(executor, std::vector<T>(x.size(), nan)), dw(executor, std::vector<T>(w.size(), nan));
  const Buffer<Sum> wide_dw(executor, std::vector<Sum>(w.size(), mezzo::element_limits<Sum>::quiet_nan()));
  Engine::template forward<T, T, T>(workspace, shape, in.data(), weights.data(), y.data(), where);
  check_sums(y.read(), y_sums);
  Engine::template data_gradient<T, T, T>(workspace, shape, gradient.data(), weights.data(), dx.data(), Accumulate::no, where);
  check_sums(dx.read(), dx_sums);
  Engine::template weight_gradient<T, T, T>(workspace, shape, in.data(), gradient.data(), dw.data(), Accumulate::no, where);
  check_sums(dw.read(), dw_sums);
  Engine::template weight_gradient<T, T, Sum>(workspace, shape, in.data(), gradient.data(), wide_dw.data(), Accumulate::no, where);
  check_sums(wide_dw.read(), dw_sums);

  // The same once more gives the same bits, and can be added.
  const auto first_y = y.read(), first_dx = dx.read(), first_dw = dw.read();
  Engine::template forward<T, T, T>(workspace, shape, in.data(), weights.data(), y.data(), where);
  CHECK(bits_of(y.read()) == bits_of(first_y));
  for (std::size_t i = 0; i < first_dx.size(); ++i) dx_sums[i].add(exact(first_dx[i]));
  for (std::size_t i = 0; i < first_dw.size(); ++i) dw_sums[i].add(exact(first_dw[i]));
  Engine::template data_gradient<T, T, T>(workspace, shape, gradient.data(), weights.data(), dx.data(), Accumulate::yes, where);
  check_sums(dx.read(), dx_sums);
  Engine::template weight_gradient<T, T, T>(workspace, shape, in.data(), gradient.data(), dw.data(), Accumulate::yes, where);
  check_sums(dw.read(), dw_sums);
}

const Conv2dShape shapes[] = {
    {.batch = 5, .height = 8, .width = 8, .in_channels = 16, .out_channels = 24, .kernel = 3, .stride = 1, .padding = 1},
    {.batch = 3, .height = 9, .width = 7, .in_channels = 8, .out_channels = 16, .kernel = 3, .stride = 2, .padding = 1},
    {.batch = 19, .height = 6, .width = 6, .in_channels = 3, .out_channels = 8, .kernel = 3, .stride = 1, .padding = 1},
    {.batch = 3, .height = 8, .width = 8, .in_channels = 32, .out_channels = 16, .kernel = 1, .stride = 2, .padding = 0},
    {.batch = 3, .height = 4, .width = 4, .in_channels = 40, .out_channels = 7, .kernel = 1, .stride = 1, .padding = 0},
    {.batch = 2, .height = 7, .width = 5, .in_channels = 5, .out_channels = 3, .kernel = 5, .stride = 3, .padding = 2},
    // Every tile of the implicit products, which take channels in eights: all of it, a part, more than one of it.
    {.batch = 9, .height = 10, .width = 10, .in_channels = 8, .out_channels = 64, .kernel = 3, .stride = 1, .padding = 1},
    {.batch = 2, .height = 5, .width = 6, .in_channels = 72, .out_channels = 136, .kernel = 3, .stride = 1, .padding = 1},
    {.batch = 3, .height = 7, .width = 9, .in_channels = 32, .out_channels = 40, .kernel = 3, .stride = 2, .padding = 1},
    {.batch = 2, .height = 6, .width = 5, .in_channels = 24, .out_channels = 8, .kernel = 5, .stride = 3, .padding = 2},
    {.batch = 16, .height = 32, .width = 31, .in_channels = 8, .out_channels = 1032, .kernel = 1, .stride = 2, .padding = 0},
    {.batch = 4, .height = 32, .width = 31, .in_channels = 1032, .out_channels = 8, .kernel = 1, .stride = 2, .padding = 0},
};

TEST_CASE_TEMPLATE("gathered_products_stay_within_the_bound_whatever_the_scratch", T, mezzo::float16, mezzo::bfloat16, float, double) {
  using Engine = mezzo::detail::cublas::GatheredConv2d;
  MEZZO_TEST_EXECUTOR(CudaExecutor, executor);
  for (const Conv2dShape& shape : shapes) {
    check_engine<Engine, T>(executor, shape, Engine::workspace_bytes<T>(executor, shape));
    // Room for an image or two at a time: their rows as sums, an unrounded weight gradient and the gaps between them.
    const std::size_t image = product_of({shape.out_height(), shape.out_width(), shape.kernel, shape.kernel, shape.in_channels}) * sizeof(sum_of_t<T>);
    check_engine<Engine, T>(executor, shape, 2 * image + w_size(shape) * sizeof(sum_of_t<T>) + 1024);
  }
}

#if defined(MEZZO_HAS_CUDNN) && MEZZO_HAS_CUDNN
TEST_CASE_TEMPLATE("cudnn_stays_within_the_bound", T, mezzo::float16, mezzo::bfloat16, float, double) {
  using Engine = mezzo::detail::cudnn::GraphConv2d;
  MEZZO_TEST_EXECUTOR(CudaExecutor, executor);
  for (const Conv2dShape& shape : shapes) {
    check_engine<Engine, T>(executor, shape, Engine::workspace_bytes<T>(executor, shape));
    check_engine<Engine, T>(executor, shape, std::size_t{4} << 20);
  }
}

TEST_CASE_TEMPLATE("a_layer_large_enough_to_be_timed_stays_within_the_bound", T, mezzo::float16, mezzo::bfloat16) {
  using Engine = mezzo::detail::cudnn::GraphConv2d;
  MEZZO_TEST_EXECUTOR(CudaExecutor, executor);
  for (const Conv2dShape& shape : {Conv2dShape{.batch = 2, .height = 32, .width = 32, .in_channels = 64, .out_channels = 64, .kernel = 3, .stride = 1, .padding = 1},
                                   Conv2dShape{.batch = 4, .height = 16, .width = 16, .in_channels = 128, .out_channels = 256, .kernel = 3, .stride = 2, .padding = 1}}) {
    check_engine<Engine, T>(executor, shape, Engine::workspace_bytes<T>(executor, shape));
  }
}
#endif

TEST_CASE("a_scratch_too_small_for_one_image_is_refused_with_both_sizes") {
  MEZZO_TEST_EXECUTOR(CudaExecutor, executor);
  using Engine = mezzo::detail::cublas::GatheredConv2d;
  mezzo::Workspace workspace{executor, 64};
  const Conv2dShape& shape = shapes[2];  // channels that are gathered
  const Buffer<float> x(executor, x_size(shape)), w(executor, w_size(shape)), y(executor, y_size(shape));
  const auto text = message_of<mezzo::InvalidArgument>([&] { Engine::forward(workspace, shape, static_cast<const float*>(x.data()), static_cast<const float*>(w.data()), y.data(), std::source_location::current()); });
  CHECK(text.find("conv2d: the workspace is too small: this shape needs ") != std::string::npos);
  CHECK(text.ends_with("bytes, got 64"));
}

}  // namespace
