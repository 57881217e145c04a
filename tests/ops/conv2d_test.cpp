#include <mezzo/ops/conv2d.hpp>

#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;
using mezzo::Conv2dShape;
using mezzo::convert;

std::size_t size_of(std::initializer_list<std::int64_t> dimensions) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : dimensions) count *= dimension;
  return static_cast<std::size_t>(count);
}
std::size_t x_size(const Conv2dShape& s) { return size_of({s.batch, s.height, s.width, s.in_channels}); }
std::size_t w_size(const Conv2dShape& s) { return size_of({s.out_channels, s.kernel, s.kernel, s.in_channels}); }
std::size_t y_size(const Conv2dShape& s) { return size_of({s.batch, s.out_height(), s.out_width(), s.out_channels}); }

/// `body(x, w, y)` for the indices of every product of the convolution, straight from its definition.
template <class Body>
void for_each_product(const Conv2dShape& s, Body&& body) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.out_height(); ++i)
      for (std::int64_t j = 0; j < s.out_width(); ++j)
        for (std::int64_t o = 0; o < s.out_channels; ++o)
          for (std::int64_t r = 0; r < s.kernel; ++r)
            for (std::int64_t t = 0; t < s.kernel; ++t) {
              const std::int64_t row = i * s.stride + r - s.padding;
              const std::int64_t column = j * s.stride + t - s.padding;
              if (row < 0 || column < 0 || row >= s.height || column >= s.width) continue;
              for (std::int64_t c = 0; c < s.in_channels; ++c) {
                body(static_cast<std::size_t>(((n * s.height + row) * s.width + column) * s.in_channels + c),
                     static_cast<std::size_t>(((o * s.kernel + r) * s.kernel + t) * s.in_channels + c),
                     static_cast<std::size_t>(((n * s.out_height() + i) * s.out_width() + j) * s.out_channels + o));
              }
            }
}

const Conv2dShape shapes[] = {
    {.batch = 2, .height = 6, .width = 6, .in_channels = 16, .out_channels = 16, .kernel = 3, .stride = 1, .padding = 1},  // n = 144
    {.batch = 2, .height = 8, .width = 8, .in_channels = 16, .out_channels = 32, .kernel = 3, .stride = 2, .padding = 1},
    {.batch = 1, .height = 4, .width = 4, .in_channels = 56, .out_channels = 17, .kernel = 3, .stride = 1, .padding = 1},  // n = 504
    {.batch = 3, .height = 7, .width = 5, .in_channels = 3, .out_channels = 5, .kernel = 3, .stride = 2, .padding = 1},
    {.batch = 2, .height = 9, .width = 9, .in_channels = 33, .out_channels = 18, .kernel = 1, .stride = 1, .padding = 0},
    {.batch = 2, .height = 9, .width = 7, .in_channels = 5, .out_channels = 4, .kernel = 1, .stride = 2, .padding = 0},  // pixels unread
    {.batch = 1, .height = 1, .width = 1, .in_channels = 1, .out_channels = 1, .kernel = 1, .stride = 1, .padding = 0},
    {.batch = 1, .height = 1, .width = 2, .in_channels = 1, .out_channels = 1, .kernel = 3, .stride = 1, .padding = 1},
    {.batch = 2, .height = 6, .width = 6, .in_channels = 2, .out_channels = 3, .kernel = 5, .stride = 3, .padding = 4},
    {.batch = 2, .height = 5, .width = 5, .in_channels = 3, .out_channels = 2, .kernel = 2, .stride = 3, .padding = 0},  // stride > kernel
    {.batch = 2, .height = 9, .width = 12, .in_channels = 3, .out_channels = 2, .kernel = 3, .stride = 5, .padding = 2},
    {.batch = 2, .height = 7, .width = 4, .in_channels = 3, .out_channels = 2, .kernel = 2, .stride = 2, .padding = 1},
    {.batch = 9, .height = 5, .width = 5, .in_channels = 4, .out_channels = 6, .kernel = 4, .stride = 1, .padding = 3},
};

TEST_CASE_TEMPLATE("each_output_is_the_sum_of_its_products_rounded_once", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (const Conv2dShape& shape : shapes) {
    CAPTURE(&shape - shapes);
    auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<T>(executor, shape));
    const auto x = random_values<T>(x_size(shape), 1);
    const auto w = random_values<T>(w_size(shape), 2);
    const auto dy = random_values<T>(y_size(shape), 3);
    std::vector<Sums> y_exact(dy.size()), dx_exact(x.size()), dw_exact(w.size());
    for_each_product(shape, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
      y_exact[at_y].add(exact(x[at_x]) * exact(w[at_w]));
      dx_exact[at_x].add(exact(dy[at_y]) * exact(w[at_w]));
      dw_exact[at_w].add(exact(dy[at_y]) * exact(x[at_x]));
    });
    const Buffer<T> in(executor, x), weights(executor, w), gradient(executor, dy);
    // Outputs start as NaN: all of them must be written, and none read.
    const T nan = mezzo::element_limits<T>::quiet_nan();
    const Buffer<T> y(executor, std::vector<T>(dy.size(), nan)), dx(executor, std::vector<T>(x.size(), nan)), dw(executor, std::vector<T>(w.size(), nan));
    mezzo::conv2d<Policy>(workspace, shape, in, weights, y);
    mezzo::conv2d_data_gradient<Policy>(workspace, shape, gradient, weights, dx);
    mezzo::conv2d_weight_gradient<Policy>(workspace, shape, in, gradient, dw);
    check_sums(y.read(), y_exact);
    check_sums(dx.read(), dx_exact);
    check_sums(dw.read(), dw_exact);
    // In float the weight gradient keeps its sum.
    const Buffer<sum_of_t<T>> sum(executor, w.size());
    mezzo::conv2d_weight_gradient<Policy>(workspace, shape, in, gradient, sum);
    check_sums(sum.read(), dw_exact);
  }
}

TEST_CASE_TEMPLATE("a_stride_beyond_the_padded_image_has_one_window_however_large_it_is", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (Conv2dShape shape : {Conv2dShape{.batch = 2, .height = 5, .width = 4, .in_channels = 8, .out_channels = 16, .kernel = 3, .stride = 7, .padding = 1},
                            Conv2dShape{.batch = 2, .height = 3, .width = 6, .in_channels = 3, .out_channels = 5, .kernel = 1, .stride = 6, .padding = 0},
                            Conv2dShape{.batch = 1, .height = 2, .width = 2, .in_channels = 2, .out_channels = 3, .kernel = 4, .stride = 8, .padding = 3}}) {
    CAPTURE(shape.kernel);
    const auto x = random_values<T>(x_size(shape), 1), w = random_values<T>(w_size(shape), 2), dy = random_values<T>(y_size(shape), 3);
    const Buffer<T> in(executor, x), weights(executor, w), gradient(executor, dy);
    std::vector<Sums> y_exact(dy.size()), dx_exact(x.size()), dw_exact(w.size());
    for_each_product(shape, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
      y_exact[at_y].add(exact(x[at_x]) * exact(w[at_w]));
      dx_exact[at_x].add(exact(dy[at_y]) * exact(w[at_w]));
      dw_exact[at_w].add(exact(dy[at_y]) * exact(x[at_x]));
    });
    const std::size_t bytes = mezzo::conv2d_workspace_bytes<T>(executor, shape);
    using Results = std::vector<std::vector<T>>;
    const auto results = [&] {
      CHECK(mezzo::conv2d_workspace_bytes<T>(executor, shape) == bytes);
      auto workspace = poisoned_workspace(executor, bytes);
      mezzo::conv2d_prepare<T>(workspace, shape);
      const T nan = mezzo::element_limits<T>::quiet_nan();
      const Buffer<T> y(executor, std::vector<T>(dy.size(), nan)), dx(executor, std::vector<T>(x.size(), nan)), dw(executor, std::vector<T>(w.size(), nan)),
          added(executor, x);
      mezzo::conv2d<Policy>(workspace, shape, in, weights, y);
      mezzo::conv2d_data_gradient<Policy>(workspace, shape, gradient, weights, dx);
      mezzo::conv2d_data_gradient<Policy>(workspace, shape, gradient, weights, added, Accumulate::yes);
      mezzo::conv2d_weight_gradient<Policy>(workspace, shape, in, gradient, dw);
      return Results{y.read(), dx.read(), dw.read(), added.read()};
    };
    const Results expected = results();
    check_sums(expected[0], y_exact);
    check_sums(expected[1], dx_exact);
    check_sums(expected[2], dw_exact);
    for (const std::int64_t stride : {std::int64_t{1} << 20, std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{1} << 33, std::int64_t{1} << 62,
                                      std::numeric_limits<std::int64_t>::max()}) {
      shape.stride = stride;
      const Results got = results();
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(bits_of(got[i]) == bits_of(expected[i]));
    }
  }
}

TEST_CASE_TEMPLATE("gradients_can_be_added_to_what_is_there", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const Conv2dShape shape{.batch = 2, .height = 5, .width = 5, .in_channels = 3, .out_channels = 4, .kernel = 3, .stride = 2, .padding = 1};
  auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<T>(executor, shape));
  const auto x = random_values<T>(x_size(shape), 1), w = random_values<T>(w_size(shape), 2), dy = random_values<T>(y_size(shape), 3);
  const auto old_dx = random_values<T>(x.size(), 4), old_dw = random_values<T>(w.size(), 5);
  std::vector<Sums> dx_exact(x.size()), dw_exact(w.size());
  for (std::size_t i = 0; i < x.size(); ++i) dx_exact[i].add(exact(old_dx[i]));
  for (std::size_t i = 0; i < w.size(); ++i) dw_exact[i].add(exact(old_dw[i]));
  for_each_product(shape, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
    dx_exact[at_x].add(exact(dy[at_y]) * exact(w[at_w]));
    dw_exact[at_w].add(exact(dy[at_y]) * exact(x[at_x]));
  });
  const Buffer<T> in(executor, x), weights(executor, w), gradient(executor, dy), dx(executor, old_dx), dw(executor, old_dw);
  mezzo::conv2d_data_gradient<Policy>(workspace, shape, gradient, weights, dx, Accumulate::yes);
  mezzo::conv2d_weight_gradient<Policy>(workspace, shape, in, gradient, dw, Accumulate::yes);
  check_sums(dx.read(), dx_exact);
  check_sums(dw.read(), dw_exact);
}

TEST_CASE_TEMPLATE("gradients_agree_with_finite_differences", Where, MEZZO_OPS_EXECUTORS) {
  using Policy = policy_of<double>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  for (const Conv2dShape& shape : {Conv2dShape{.batch = 2, .height = 4, .width = 5, .in_channels = 2, .out_channels = 3, .kernel = 3, .stride = 1, .padding = 1},
                                   Conv2dShape{.batch = 2, .height = 5, .width = 4, .in_channels = 3, .out_channels = 2, .kernel = 3, .stride = 2, .padding = 1},
                                   Conv2dShape{.batch = 1, .height = 3, .width = 3, .in_channels = 2, .out_channels = 2, .kernel = 1, .stride = 2, .padding = 0}}) {
    auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<double>(executor, shape));
    const auto x = random_values<double>(x_size(shape), 1), w = random_values<double>(w_size(shape), 2), dy = random_values<double>(y_size(shape), 3);
    const Buffer<double> y(executor, dy.size()), gradient(executor, dy), dx(executor, x.size()), dw(executor, w.size());
    const auto forward = [&](const std::vector<double>& at_x, const std::vector<double>& at_w) {
      const Buffer<double> in(executor, at_x), weights(executor, at_w);
      mezzo::conv2d<Policy>(workspace, shape, in, weights, y);
      return y.read();
    };
    const double magnitude = inner_magnitude(forward(x, w), dy);
    const Buffer<double> in(executor, x), weights(executor, w);
    mezzo::conv2d_data_gradient<Policy>(workspace, shape, gradient, weights, dx);
    mezzo::conv2d_weight_gradient<Policy>(workspace, shape, in, gradient, dw);
    check_gradient(x, dx.read(), magnitude, [&](const auto& at) { return inner(forward(at, w), dy); });
    check_gradient(w, dw.read(), magnitude, [&](const auto& at) { return inner(forward(x, at), dy); });
  }
}

TEST_CASE_TEMPLATE("an_empty_batch_writes_nothing_but_a_weight_gradient_of_zero", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const Conv2dShape shape{.batch = 0, .height = 5, .width = 5, .in_channels = 3, .out_channels = 4, .kernel = 3, .stride = 1, .padding = 1};
  auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<T>(executor, shape));
  const Buffer<T> none(executor, 0), w(executor, random_values<T>(w_size(shape), 2)), dw(executor, random_values<T>(w_size(shape), 3));
  mezzo::conv2d<Policy>(workspace, shape, none, w, none);
  mezzo::conv2d_data_gradient<Policy>(workspace, shape, none, w, none);
  mezzo::conv2d_weight_gradient<Policy>(workspace, shape, none, none, dw, Accumulate::yes);
  CHECK(bits_of(dw.read()) == bits_of(random_values<T>(w_size(shape), 3)));
  mezzo::conv2d_weight_gradient<Policy>(workspace, shape, none, none, dw);
  CHECK(bits_of(dw.read()) == bits_of(std::vector<T>(w_size(shape), convert<T>(0.f))));
}

TEST_CASE_TEMPLATE("infinities_and_nans_reach_every_result_that_reads_them", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (const Conv2dShape& shape : {Conv2dShape{.batch = 2, .height = 6, .width = 6, .in_channels = 3, .out_channels = 2, .kernel = 3, .stride = 1, .padding = 1},
                                   Conv2dShape{.batch = 2, .height = 8, .width = 8, .in_channels = 8, .out_channels = 16, .kernel = 3, .stride = 1, .padding = 1},
                                   Conv2dShape{.batch = 4, .height = 8, .width = 8, .in_channels = 16, .out_channels = 8, .kernel = 1, .stride = 2, .padding = 0}}) {
    CAPTURE(shape.in_channels);
    auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<T>(executor, shape));
    for (const T planted : {mezzo::element_limits<T>::infinity(), mezzo::element_limits<T>::quiet_nan()}) {
      auto x = random_values<T>(x_size(shape), 1), w = random_values<T>(w_size(shape), 2), dy = random_values<T>(y_size(shape), 3);
      std::size_t at_x = 0, at_w = 0, at_y = 0;  // of one product near the middle
      for_each_product(shape, [&](std::size_t in, std::size_t weight, std::size_t out) {
        if (out <= dy.size() / 2) at_x = in, at_w = weight, at_y = out;
      });
      std::vector<bool> y_by_x(dy.size()), y_by_w(dy.size()), dx_by_y(x.size()), dw_by_y(w.size());
      for_each_product(shape, [&](std::size_t in, std::size_t weight, std::size_t out) {
        if (in == at_x) y_by_x[out] = true;
        if (weight == at_w) y_by_w[out] = true;
        if (out == at_y) dx_by_y[in] = dw_by_y[weight] = true;
      });
      const auto with = [&](std::vector<T> values, std::size_t place) {
        values[place] = planted;
        return Buffer<T>(executor, values);
      };
      const Buffer<T> in(executor, x), weights(executor, w), y(executor, dy.size()), dx(executor, x.size()), dw(executor, w.size());
      mezzo::conv2d<Policy>(workspace, shape, with(x, at_x), weights, y);
      auto got = y.read();
      for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(mezzo::is_finite(got[i]) == !y_by_x[i]);
      // Beyond an edge there are zeros, and some kernels multiply them: more may be NaN here, nothing may be lost.
      mezzo::conv2d<Policy>(workspace, shape, in, with(w, at_w), y);
      got = y.read();
      for (std::size_t i = 0; i < got.size(); ++i) REQUIRE((!y_by_w[i] || !mezzo::is_finite(got[i])));
      mezzo::conv2d_data_gradient<Policy>(workspace, shape, with(dy, at_y), weights, dx);
      got = dx.read();
      for (std::size_t i = 0; i < got.size(); ++i) REQUIRE((!dx_by_y[i] || !mezzo::is_finite(got[i])));
      mezzo::conv2d_weight_gradient<Policy>(workspace, shape, in, with(dy, at_y), dw);
      got = dw.read();
      for (std::size_t i = 0; i < got.size(); ++i) REQUIRE((!dw_by_y[i] || !mezzo::is_finite(got[i])));
    }
  }
}

TEST_CASE_TEMPLATE("a_sum_beyond_float16_becomes_infinity_and_small_ones_stay_subnormal", Where, MEZZO_OPS_EXECUTORS) {
  using mezzo::float16;
  using Policy = mezzo::Autocast<float16>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  const Conv2dShape shape{.batch = 1, .height = 1, .width = 3, .in_channels = 32, .out_channels = 1, .kernel = 1, .stride = 1, .padding = 0};
  auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<float16>(executor, shape));
  // 32 * 2048 = 65536 overflows; 65504 is the largest; 32 * 2^-29 = 2^-24 is the smallest subnormal.
  std::vector<float16> x(96);
  for (std::size_t c = 0; c < 32; ++c) x[c] = convert<float16>(2048.f), x[32 + c] = convert<float16>(2047.f), x[64 + c] = convert<float16>(0x1p-15f);
  std::vector<float16> w(32, convert<float16>(1.f));
  const Buffer<float16> in(executor, x), y(executor, 3);
  mezzo::conv2d<Policy>(workspace, shape, in, Buffer<float16>(executor, w), y);
  CHECK(mezzo::to_bits(y.read()[0]) == 0x7c00);
  CHECK(convert<float>(y.read()[1]) == 65504.f);
  for (auto& value : w) value = convert<float16>(0x1p-14f);
  mezzo::conv2d<Policy>(workspace, shape, in, Buffer<float16>(executor, w), y);
  CHECK(convert<float>(y.read()[2]) == 0x1p-24f);
}

TEST_CASE("operands_of_different_types_work_where_the_policy_lets_them_pass") {
  using Off = mezzo::Autocast<mezzo::float16>::disabled;
  const mezzo::HostExecutor executor;
  const Conv2dShape shape{.batch = 2, .height = 5, .width = 5, .in_channels = 3, .out_channels = 4, .kernel = 3, .stride = 1, .padding = 1};
  auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<float>(executor, shape));
  const auto x = random_values<mezzo::float16>(x_size(shape), 1);
  const auto w = random_values<float>(w_size(shape), 2);
  std::vector<Sums> expected(y_size(shape));
  for_each_product(shape, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) { expected[at_y].add(exact(x[at_x]) * exact(w[at_w])); });
  std::vector<float> y(expected.size());
  mezzo::conv2d<Off>(workspace, shape, x, w, y);
  check_sums(y, expected);
}

TEST_CASE("sizes_and_shapes_that_do_not_fit_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 1 << 16};
  const Conv2dShape good{.batch = 1, .height = 4, .width = 4, .in_channels = 2, .out_channels = 3, .kernel = 3, .stride = 1, .padding = 1};
  std::vector<float> x(32), w(54), y(48), wrong(7);
  using mezzo::InvalidArgument;
  const auto forward = [&](const Conv2dShape& shape) { return message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, shape, x, w, y); }); };
  const auto with = [&](auto&& change) {
    Conv2dShape shape = good;
    change(shape);
    return forward(shape);
  };
  CHECK(forward(good) == "");
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, good, wrong, w, y); }).find("conv2d_test.cpp:") == 0);
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, good, wrong, w, y); }).ends_with("conv2d: x must have 32 elements, got 7"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, good, x, wrong, y); }).ends_with("conv2d: w must have 54 elements, got 7"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, good, x, w, wrong); }).ends_with("conv2d: y must have 48 elements, got 7"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d_data_gradient<Policy>(workspace, good, wrong, w, x); })
            .ends_with("conv2d_data_gradient: dy must have 48 elements, got 7"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d_weight_gradient<Policy>(workspace, good, x, y, wrong); })
            .ends_with("conv2d_weight_gradient: dw must have 54 elements, got 7"));
  CHECK(with([](auto& s) { s.batch = -1; }).ends_with("conv2d: shape.batch must be at least 0, got -1"));
  CHECK(with([](auto& s) { s.height = 0; }).ends_with("conv2d: shape.height must be at least 1, got 0"));
  CHECK(with([](auto& s) { s.width = -3; }).ends_with("conv2d: shape.width must be at least 1, got -3"));
  CHECK(with([](auto& s) { s.in_channels = 0; }).ends_with("conv2d: shape.in_channels must be at least 1, got 0"));
  CHECK(with([](auto& s) { s.out_channels = 0; }).ends_with("conv2d: shape.out_channels must be at least 1, got 0"));
  CHECK(with([](auto& s) { s.kernel = 0; }).ends_with("conv2d: shape.kernel must be at least 1, got 0"));
  CHECK(with([](auto& s) { s.stride = 0; }).ends_with("conv2d: shape.stride must be at least 1, got 0"));
  CHECK(with([](auto& s) { s.padding = -1; }).ends_with("conv2d: shape.padding must be at least 0, got -1"));
  CHECK(with([](auto& s) { s.padding = 3; }).ends_with("conv2d: shape.padding must be less than shape.kernel, got 3"));
  CHECK(with([](auto& s) { s.kernel = 7; }).ends_with("conv2d: shape.kernel must fit into the padded image, got 7"));
  CHECK(with([](auto& s) { s.height = std::numeric_limits<std::int64_t>::max(); })
            .ends_with("conv2d: the shape gives x more elements than 64 bits can address"));
  CHECK(with([](auto& s) { s.batch = 0, s.width = std::numeric_limits<std::int64_t>::max(); })
            .ends_with("conv2d: the shape gives x more elements than 64 bits can address"));
  CHECK(with([](auto& s) { s.out_channels = std::int64_t{1} << 58; })
            .ends_with("conv2d: the shape gives w more elements than 64 bits can address"));
  const mezzo::Span<float> null(static_cast<float*>(nullptr), 32);
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, good, null, w, y); }).ends_with("conv2d: x must not be null"));
}

TEST_CASE("outputs_over_inputs_and_a_workspace_too_small_are_refused_before_anything_is_written") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  const Conv2dShape shape{.batch = 1, .height = 4, .width = 4, .in_channels = 2, .out_channels = 2, .kernel = 3, .stride = 1, .padding = 1};
  std::vector<float> all(64, 1.f), w(36, 1.f), y(32, 7.f);
  const mezzo::Span<float> x(all.data(), 32), overlapping(all.data() + 31, 32), behind(all.data() + 32, 32);
  auto workspace = poisoned_workspace(executor, mezzo::conv2d_workspace_bytes<float>(executor, shape));
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, shape, x, w, overlapping); }).ends_with("conv2d: y must not overlap x"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d_data_gradient<Policy>(workspace, shape, x, w, x); })
            .ends_with("conv2d_data_gradient: dx must not overlap dy"));
  CHECK(all == std::vector<float>(64, 1.f));
  CHECK(message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(workspace, shape, x, w, behind); }) == "");

  mezzo::Workspace small{executor, 100};
  const std::string text = message_of<InvalidArgument>([&] { mezzo::conv2d<Policy>(small, shape, x, w, y); });
  CHECK(text.find("conv2d: the workspace is too small: this shape needs ") != std::string::npos);
  CHECK(text.ends_with(" bytes, got 100"));
  CHECK(y == std::vector<float>(32, 7.f));
}

}  // namespace
