#include <mezzo/ops/pooling.hpp>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::convert;
using mezzo::ImageShape;
using mezzo::Pool2dShape;

std::size_t x_size(const Pool2dShape& s) { return static_cast<std::size_t>(s.batch * s.height * s.width * s.channels); }
std::size_t y_size(const Pool2dShape& s) { return static_cast<std::size_t>(s.batch * s.out_height() * s.out_width() * s.channels); }

/// `body(x, y)` for the indices of each element of each window.
template <class Body>
void for_each_element(const Pool2dShape& s, Body&& body) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.out_height(); ++i)
      for (std::int64_t j = 0; j < s.out_width(); ++j)
        for (std::int64_t r = 0; r < s.window; ++r)
          for (std::int64_t t = 0; t < s.window; ++t)
            for (std::int64_t c = 0; c < s.channels; ++c)
              body(static_cast<std::size_t>(((n * s.height + i * s.stride + r) * s.width + j * s.stride + t) * s.channels + c),
                   static_cast<std::size_t>(((n * s.out_height() + i) * s.out_width() + j) * s.channels + c));
}

constexpr Pool2dShape shapes[] = {{.batch = 2, .height = 4, .width = 6, .channels = 16, .window = 2, .stride = 2},
                                  {.batch = 1, .height = 1, .width = 1, .channels = 1, .window = 1, .stride = 1},
                                  {.batch = 3, .height = 7, .width = 5, .channels = 3, .window = 2, .stride = 2},  // a row and a column left over
                                  {.batch = 2, .height = 9, .width = 8, .channels = 70, .window = 3, .stride = 4},
                                  {.batch = 2, .height = 6, .width = 6, .channels = 5, .window = 6, .stride = 6}};

TEST_CASE_TEMPLATE("max_pool_gives_the_largest_and_sends_its_gradient_back", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  for (const Pool2dShape& shape : shapes) {
    CAPTURE(&shape - shapes);
    const auto x = random_values<T>(x_size(shape), 1);  // ties are found in bfloat16
    const auto dy = random_values<T>(y_size(shape), 2);
    std::vector<T> y(dy.size(), mezzo::element_limits<T>::lowest());
    std::vector<std::size_t> from(dy.size());
    for_each_element(shape, [&](std::size_t at_x, std::size_t at_y) {
      if (exact(x[at_x]) > exact(y[at_y])) y[at_y] = x[at_x], from[at_y] = at_x;
    });
    std::vector<T> dx(x.size(), convert<T>(0.f));
    for (std::size_t i = 0; i < dy.size(); ++i) dx[from[i]] = dy[i];
    const T nan = mezzo::element_limits<T>::quiet_nan();
    const Buffer<T> in(executor, x), gradient(executor, dy), out(executor, std::vector<T>(dy.size(), nan)), back(executor, std::vector<T>(x.size(), nan));
    mezzo::max_pool2d<Policy>(workspace, shape, in, out);
    CHECK(bits_of(out.read()) == bits_of(y));
    mezzo::max_pool2d_backward<Policy>(workspace, shape, in, gradient, back);
    CHECK(bits_of(back.read()) == bits_of(dx));
  }
}

TEST_CASE_TEMPLATE("max_pool_takes_the_first_of_equals_and_shows_a_nan", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const Pool2dShape shape{.batch = 1, .height = 2, .width = 6, .channels = 1};
  const auto t = [](float value) { return convert<T>(value); };
  const T nan = mezzo::element_limits<T>::quiet_nan();
  const Buffer<T> x(executor, {t(1), t(3), t(-2), t(-2), t(5), t(9), t(3), t(3), t(-2), t(-2), nan, t(7)});
  const Buffer<T> y(executor, 3), dx(executor, 12);
  mezzo::max_pool2d<Policy>(workspace, shape, x, y);
  CHECK(exact(y.read()[0]) == 3);
  CHECK(exact(y.read()[1]) == -2);
  CHECK(mezzo::is_nan(y.read()[2]));
  mezzo::max_pool2d_backward<Policy>(workspace, shape, x, Buffer<T>(executor, {t(1), t(2), t(4)}), dx);
  CHECK(bits_of(dx.read()) == bits_of(std::vector<T>{t(0), t(1), t(2), t(0), t(0), t(0), t(0), t(0), t(0), t(0), t(4), t(0)}));
}

TEST_CASE_TEMPLATE("average_pools_give_means_rounded_once", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  for (const Pool2dShape& shape : shapes) {
    CAPTURE(&shape - shapes);
    const auto x = random_values<T>(x_size(shape), 1), dy = random_values<T>(y_size(shape), 2);
    const auto window = static_cast<long double>(shape.window * shape.window);
    std::vector<Sums> y(dy.size()), dx(x.size());
    for_each_element(shape, [&](std::size_t at_x, std::size_t at_y) {
      y[at_y].add(exact(x[at_x]) / window);
      dx[at_x].add(exact(dy[at_y]) / window);
    });
    for (Sums& sums : y) ++sums.terms;  // the division rounds once more
    const T nan = mezzo::element_limits<T>::quiet_nan();
    const Buffer<T> in(executor, x), gradient(executor, dy), out(executor, std::vector<T>(dy.size(), nan)), back(executor, std::vector<T>(x.size(), nan));
    mezzo::avg_pool2d<Policy>(workspace, shape, in, out);
    check_sums<T, Sum>(out.read(), y);
    mezzo::avg_pool2d_backward<Policy>(workspace, shape, gradient, back);
    check_sums<T, Sum>(back.read(), dx);
  }
  const ImageShape images[] = {{.batch = 2, .height = 8, .width = 8, .channels = 64}, {.batch = 3, .height = 5, .width = 3, .channels = 67},
                               {.batch = 1, .height = 1, .width = 1, .channels = 1}, {.batch = 1, .height = 16, .width = 32, .channels = 130}};
  for (const ImageShape& image : images) {
    CAPTURE(&image - images);
    const auto pixels = image.height * image.width;
    const auto x = random_values<T>(static_cast<std::size_t>(image.batch * pixels * image.channels), 1);
    const auto dy = random_values<T>(static_cast<std::size_t>(image.batch * image.channels), 2);
    std::vector<Sums> y(dy.size()), dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const auto to = static_cast<std::size_t>(at / (pixels * image.channels) * image.channels + at % image.channels);
      y[to].add(exact(x[i]) / static_cast<long double>(pixels));
      dx[i].add(exact(dy[to]) / static_cast<long double>(pixels));
    }
    for (Sums& sums : y) ++sums.terms;
    const T nan = mezzo::element_limits<T>::quiet_nan();
    const Buffer<T> in(executor, x), gradient(executor, dy), out(executor, std::vector<T>(dy.size(), nan)), back(executor, std::vector<T>(x.size(), nan));
    mezzo::global_avg_pool2d<Policy>(workspace, image, in, out);
    check_sums<T, Sum>(out.read(), y);
    mezzo::global_avg_pool2d_backward<Policy>(workspace, image, gradient, back);
    check_sums<T, Sum>(back.read(), dx);
  }
}

TEST_CASE_TEMPLATE("gradients_agree_with_finite_differences", Where, MEZZO_OPS_EXECUTORS) {
  using Policy = policy_of<double>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  mezzo::Workspace workspace{executor, 0};
  const Pool2dShape shape{.batch = 2, .height = 5, .width = 4, .channels = 3};
  std::vector<double> x(x_size(shape));  // multiples of 1/64 in no order: no difference moves the largest element of a window
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 37 % x.size()) / 64;
  const auto dy = random_values<double>(y_size(shape), 2);
  const Buffer<double> y(executor, dy.size()), dx(executor, x.size());
  const auto loss_of = [&](auto&& pool) {
    return [&, pool](const std::vector<double>& at) {
      pool(Buffer<double>(executor, at));
      return inner(y.read(), dy);
    };
  };
  const auto max_pool = [&](const Buffer<double>& at) { mezzo::max_pool2d<Policy>(workspace, shape, at, y); };
  const auto avg_pool = [&](const Buffer<double>& at) { mezzo::avg_pool2d<Policy>(workspace, shape, at, y); };
  max_pool(Buffer<double>(executor, x));
  const double magnitude = inner_magnitude(y.read(), dy);
  mezzo::max_pool2d_backward<Policy>(workspace, shape, Buffer<double>(executor, x), Buffer<double>(executor, dy), dx);
  check_gradient(x, dx.read(), magnitude, loss_of(max_pool));
  mezzo::avg_pool2d_backward<Policy>(workspace, shape, Buffer<double>(executor, dy), dx);
  check_gradient(x, dx.read(), magnitude, loss_of(avg_pool));
}

TEST_CASE("an_empty_batch_does_nothing_and_wrong_sizes_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  std::vector<float> none, x(16), y(4), wrong(3);
  const Pool2dShape shape{.batch = 1, .height = 4, .width = 4, .channels = 1};
  const ImageShape image{.batch = 1, .height = 4, .width = 4, .channels = 1};
  const auto refusal = [&](auto&& call) { return message_of<InvalidArgument>(call); };
  CHECK(refusal([&] { mezzo::max_pool2d<Policy>(workspace, {.batch = 0, .height = 4, .width = 4, .channels = 1}, none, none); }) == "");
  CHECK(refusal([&] { mezzo::global_avg_pool2d<Policy>(workspace, ImageShape{.batch = 0, .height = 4, .width = 4, .channels = 1}, none, none); }) == "");
  CHECK(refusal([&] { mezzo::max_pool2d<Policy>(workspace, shape, wrong, y); }).find("pooling_test.cpp:") == 0);
  CHECK(refusal([&] { mezzo::max_pool2d<Policy>(workspace, shape, wrong, y); }).ends_with("max_pool2d: x must have 16 elements, got 3"));
  CHECK(refusal([&] { mezzo::avg_pool2d<Policy>(workspace, shape, x, wrong); }).ends_with("avg_pool2d: y must have 4 elements, got 3"));
  CHECK(refusal([&] { mezzo::max_pool2d_backward<Policy>(workspace, shape, wrong, y, x); }).ends_with("max_pool2d_backward: x must have 16 elements, got 3"));
  CHECK(refusal([&] { mezzo::max_pool2d_backward<Policy>(workspace, shape, x, y, x); }).ends_with("max_pool2d_backward: dx must not overlap x"));
  CHECK(refusal([&] { mezzo::avg_pool2d_backward<Policy>(workspace, shape, wrong, x); }).ends_with("avg_pool2d_backward: dy must have 4 elements, got 3"));
  CHECK(refusal([&] { mezzo::global_avg_pool2d<Policy>(workspace, image, x, y); }).ends_with("global_avg_pool2d: y must have 1 elements, got 4"));
  CHECK(refusal([&] { mezzo::global_avg_pool2d_backward<Policy>(workspace, image, y, x); }).ends_with("global_avg_pool2d_backward: dy must have 1 elements, got 4"));
  const auto with = [&](auto&& change) {
    Pool2dShape changed = shape;
    change(changed);
    return refusal([&] { mezzo::max_pool2d<Policy>(workspace, changed, x, y); });
  };
  CHECK(with([](auto& s) { s.batch = -1; }).ends_with("max_pool2d: shape.batch must be at least 0, got -1"));
  CHECK(with([](auto& s) { s.channels = 0; }).ends_with("max_pool2d: shape.channels must be at least 1, got 0"));
  CHECK(with([](auto& s) { s.window = 0; }).ends_with("max_pool2d: shape.window must be at least 1, got 0"));
  CHECK(with([](auto& s) { s.stride = 1; }).ends_with("max_pool2d: shape.stride must be at least 2, got 1"));
  CHECK(with([](auto& s) { s.height = 1; }).ends_with("max_pool2d: shape.height must be at least 2, got 1"));
  CHECK(with([](auto& s) { s.width = 0; }).ends_with("max_pool2d: shape.width must be at least 2, got 0"));
}

}  // namespace
