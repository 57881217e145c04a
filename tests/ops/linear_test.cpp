#include <mezzo/ops/linear.hpp>

#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;
using mezzo::convert;
using mezzo::LinearShape;

std::size_t count(std::int64_t a, std::int64_t b = 1) { return static_cast<std::size_t>(a * b); }

/// `body(x, w, y, output feature)` for the indices of every product.
template <class Body>
void for_each_product(const LinearShape& s, Body&& body) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t o = 0; o < s.out_features; ++o)
      for (std::int64_t i = 0; i < s.in_features; ++i) body(count(n * s.in_features + i), count(o * s.in_features + i), count(n * s.out_features + o));
}

constexpr LinearShape shapes[] = {{.batch = 64, .in_features = 64, .out_features = 10}, {.batch = 1, .in_features = 1, .out_features = 1},
                                  {.batch = 3, .in_features = 300, .out_features = 7},  {.batch = 130, .in_features = 5, .out_features = 70},
                                  {.batch = 3, .in_features = 2, .out_features = 515},  {.batch = 1, .in_features = 512, .out_features = 40}};

TEST_CASE_TEMPLATE("forward_and_gradients_are_sums_rounded_once", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (const LinearShape& shape : shapes) {
    CAPTURE(&shape - shapes);
    auto workspace = poisoned_workspace(executor, mezzo::linear_workspace_bytes<T>(executor, shape));
    const auto x = random_values<T>(count(shape.batch, shape.in_features), 1), w = random_values<T>(count(shape.out_features, shape.in_features), 2),
               dy = random_values<T>(count(shape.batch, shape.out_features), 3);
    const auto bias = random_values<Sum>(count(shape.out_features), 4);
    std::vector<Sums> y_exact(dy.size()), no_bias(dy.size()), dx_exact(x.size()), dw_exact(w.size()), db_exact(bias.size());
    for (std::size_t i = 0; i < dy.size(); ++i) {
      y_exact[i].add(exact(bias[i % bias.size()]));
      db_exact[i % bias.size()].add(exact(dy[i]));
    }
    for_each_product(shape, [&](std::size_t at_x, std::size_t at_w, std::size_t at_y) {
      y_exact[at_y].add(exact(x[at_x]) * exact(w[at_w]));
      no_bias[at_y].add(exact(x[at_x]) * exact(w[at_w]));
      dx_exact[at_x].add(exact(dy[at_y]) * exact(w[at_w]));
      dw_exact[at_w].add(exact(dy[at_y]) * exact(x[at_x]));
    });
    const T nan = mezzo::element_limits<T>::quiet_nan();
    const Buffer<T> in(executor, x), weights(executor, w), gradient(executor, dy);
    const Buffer<Sum> offsets(executor, bias), none(executor, 0), db(executor, bias.size());
    const Buffer<T> y(executor, std::vector<T>(dy.size(), nan)), dx(executor, std::vector<T>(x.size(), nan)), dw(executor, std::vector<T>(w.size(), nan)),
        low_db(executor, std::vector<T>(bias.size(), nan));
    mezzo::linear<Policy>(workspace, shape, in, weights, offsets, y);
    check_sums(y.read(), y_exact);
    mezzo::linear<Policy>(workspace, shape, in, weights, none, y);
    check_sums(y.read(), no_bias);
    const auto low = random_values<T>(bias.size(), 5);
    auto low_exact = no_bias;
    for (std::size_t i = 0; i < dy.size(); ++i) low_exact[i].add(exact(low[i % low.size()]));
    mezzo::linear<Policy>(workspace, shape, in, weights, Buffer<T>(executor, low), y);
    check_sums(y.read(), low_exact);
    const Buffer<Sum> unrounded(executor, dy.size());
    mezzo::linear<Policy>(workspace, shape, in, weights, Buffer<T>(executor, low), unrounded);
    check_sums(unrounded.read(), low_exact);
    mezzo::linear_data_gradient<Policy>(workspace, shape, gradient, weights, dx);
    check_sums(dx.read(), dx_exact);
    mezzo::linear_weight_gradient<Policy>(workspace, shape, in, gradient, dw);
    check_sums(dw.read(), dw_exact);
    mezzo::linear_bias_gradient<Policy>(workspace, shape, gradient, db);
    check_sums(db.read(), db_exact);
    mezzo::linear_bias_gradient<Policy>(workspace, shape, gradient, low_db);
    check_sums(low_db.read(), db_exact);

    // The same once more, added to what is there.
    const auto add_old = [](auto& sums, const auto& old) {
      for (std::size_t i = 0; i < old.size(); ++i) sums[i].add(exact(old[i]));
    };
    add_old(dx_exact, dx.read()), add_old(dw_exact, dw.read()), add_old(db_exact, db.read());
    mezzo::linear_data_gradient<Policy>(workspace, shape, gradient, weights, dx, Accumulate::yes);
    mezzo::linear_weight_gradient<Policy>(workspace, shape, in, gradient, dw, Accumulate::yes);
    mezzo::linear_bias_gradient<Policy>(workspace, shape, gradient, db, Accumulate::yes);
    check_sums(dx.read(), dx_exact);
    check_sums(dw.read(), dw_exact);
    check_sums(db.read(), db_exact);
  }
}

TEST_CASE_TEMPLATE("the_bias_joins_the_sum_before_the_one_rounding", Where, MEZZO_OPS_EXECUTORS) {
  using mezzo::float16;
  MEZZO_TEST_EXECUTOR(Where, executor);
  const LinearShape shape{.batch = 1, .in_features = 2, .out_features = 2};
  auto workspace = poisoned_workspace(executor, mezzo::linear_workspace_bytes<float16>(executor, shape));
  const auto half = [](float value) { return convert<float16>(value); };
  // 1 + 0.75 * 2^-11 would round to 1 by itself, and 1 + 2^-12 too; together they are past the tie.
  const Buffer<float16> x(executor, {half(1.f), half(0.75f * 0x1p-11f)}), w(executor, {half(1.f), half(1.f), half(0.f), half(0.f)}), y(executor, 2);
  mezzo::linear<mezzo::Autocast<float16>>(workspace, shape, x, w, Buffer<float16>(executor, {half(0x1p-12f), half(3.f)}), y);
  CHECK(convert<float>(y.read()[0]) == 1.f + 0x1p-10f);
  CHECK(convert<float>(y.read()[1]) == 3.f);
  mezzo::linear<mezzo::Autocast<float16>>(workspace, shape, x, w, Buffer<float>(executor, {0x1p-12f, -3.f}), y);
  CHECK(convert<float>(y.read()[0]) == 1.f + 0x1p-10f);
  CHECK(convert<float>(y.read()[1]) == -3.f);
}

TEST_CASE_TEMPLATE("gradients_agree_with_finite_differences", Where, MEZZO_OPS_EXECUTORS) {
  using Policy = policy_of<double>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  const LinearShape shape{.batch = 3, .in_features = 5, .out_features = 4};
  auto workspace = poisoned_workspace(executor, mezzo::linear_workspace_bytes<double>(executor, shape));
  const auto x = random_values<double>(15, 1), w = random_values<double>(20, 2), bias = random_values<double>(4, 3), dy = random_values<double>(12, 4);
  const Buffer<double> y(executor, 12), gradient(executor, dy), dx(executor, 15), dw(executor, 20), db(executor, 4);
  const auto forward = [&](const auto& at_x, const auto& at_w, const auto& at_bias) {
    mezzo::linear<Policy>(workspace, shape, Buffer<double>(executor, at_x), Buffer<double>(executor, at_w), Buffer<double>(executor, at_bias), y);
    return y.read();
  };
  const double magnitude = inner_magnitude(forward(x, w, bias), dy);
  mezzo::linear_data_gradient<Policy>(workspace, shape, gradient, Buffer<double>(executor, w), dx);
  mezzo::linear_weight_gradient<Policy>(workspace, shape, Buffer<double>(executor, x), gradient, dw);
  mezzo::linear_bias_gradient<Policy>(workspace, shape, gradient, db);
  check_gradient(x, dx.read(), magnitude, [&](const auto& at) { return inner(forward(at, w, bias), dy); });
  check_gradient(w, dw.read(), magnitude, [&](const auto& at) { return inner(forward(x, at, bias), dy); });
  check_gradient(bias, db.read(), magnitude, [&](const auto& at) { return inner(forward(x, w, at), dy); });
}

TEST_CASE_TEMPLATE("an_empty_batch_gives_parameter_gradients_of_zero", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const LinearShape shape{.batch = 0, .in_features = 5, .out_features = 3};
  auto workspace = poisoned_workspace(executor, mezzo::linear_workspace_bytes<T>(executor, shape));
  const Buffer<T> none(executor, 0), w(executor, random_values<T>(15, 1)), dw(executor, random_values<T>(15, 2)), db(executor, random_values<T>(3, 3));
  mezzo::linear<Policy>(workspace, shape, none, w, none, none);
  mezzo::linear_data_gradient<Policy>(workspace, shape, none, w, none);
  mezzo::linear_weight_gradient<Policy>(workspace, shape, none, none, dw);
  mezzo::linear_bias_gradient<Policy>(workspace, shape, none, db);
  CHECK(bits_of(dw.read()) == bits_of(std::vector<T>(15, convert<T>(0.f))));
  CHECK(bits_of(db.read()) == bits_of(std::vector<T>(3, convert<T>(0.f))));
}

TEST_CASE("sizes_that_do_not_fit_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  std::vector<float> x(6), w(12), bias(4), y(8), wrong(5);
  const LinearShape shape{.batch = 2, .in_features = 3, .out_features = 4};
  const auto refusal = [&](auto&& call) { return message_of<InvalidArgument>(call); };
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, shape, x, w, bias, y); }) == "");
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, shape, wrong, w, bias, y); }).ends_with("linear: x must have 6 elements, got 5"));
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, shape, x, wrong, bias, y); }).ends_with("linear: w must have 12 elements, got 5"));
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, shape, x, w, wrong, y); }).ends_with("linear: bias must have 4 elements, got 5"));
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, shape, x, w, bias, wrong); }).ends_with("linear: y must have 8 elements, got 5"));
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, shape, x, w, bias, bias); }).ends_with("linear: y must have 8 elements, got 4"));
  CHECK(refusal([&] { mezzo::linear_data_gradient<Policy>(workspace, shape, y, w, wrong); }).ends_with("linear_data_gradient: dx must have 6 elements, got 5"));
  CHECK(refusal([&] { mezzo::linear_weight_gradient<Policy>(workspace, shape, x, y, wrong); }).ends_with("linear_weight_gradient: dw must have 12 elements, got 5"));
  CHECK(refusal([&] { mezzo::linear_bias_gradient<Policy>(workspace, shape, y, wrong); }).ends_with("linear_bias_gradient: db must have 4 elements, got 5"));
  CHECK(refusal([&] { mezzo::linear_bias_gradient<Policy>(workspace, {.batch = 1, .in_features = 1, .out_features = 4}, bias, bias); })
            .ends_with("linear_bias_gradient: db must not overlap dy"));
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, {.batch = 2, .in_features = 0, .out_features = 4}, x, w, bias, y); })
            .ends_with("linear: shape.in_features must be at least 1, got 0"));
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, {.batch = 2, .in_features = 3, .out_features = -1}, x, w, bias, y); })
            .ends_with("linear: shape.out_features must be at least 1, got -1"));
  CHECK(refusal([&] { mezzo::linear<Policy>(workspace, {.batch = -1, .in_features = 3, .out_features = 4}, x, w, bias, y); })
            .ends_with("linear: shape.batch must be at least 0, got -1"));
}

}  // namespace
