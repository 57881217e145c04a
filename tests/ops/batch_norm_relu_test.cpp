#include <mezzo/ops/batch_norm_relu.hpp>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;
using mezzo::convert;
using mezzo::ImageShape;

constexpr ImageShape shapes[] = {{.batch = 2, .height = 6, .width = 6, .channels = 16},  {.batch = 3, .height = 5, .width = 7, .channels = 3},
                                 {.batch = 1, .height = 1, .width = 1, .channels = 8},   {.batch = 2, .height = 8, .width = 8, .channels = 520},
                                 {.batch = 4, .height = 16, .width = 16, .channels = 64}, {.batch = 1, .height = 1, .width = 700, .channels = 24}};

/// The operands of a training step, with their copies in the executor's memory.
template <class E, class T>
struct Problem {
  using Sum = sum_of_t<T>;

  Problem(const E& on, const ImageShape& given)
      : executor(on),
        shape(given),
        workspace(on, mezzo::batch_norm_workspace_bytes<T>(on, given)),
        count(static_cast<std::size_t>(given.batch * given.height * given.width * given.channels)),
        channels(static_cast<std::size_t>(given.channels)),
        x(on, random_values<T>(count, 1, .5)),
        shortcut(on, random_values<T>(count, 2)),
        dy(on, random_values<T>(count, 3)),
        more(on, random_values<T>(count, 4)),
        gamma(on, random_values<Sum>(channels, 5, 1.5)),
        beta(on, random_values<Sum>(channels, 6)) {}

  [[nodiscard]] Buffer<T> data() const { return Buffer<T>(executor, std::vector<T>(count, mezzo::element_limits<T>::quiet_nan())); }
  [[nodiscard]] Buffer<Sum> per_channel(Sum value = 7) const { return Buffer<Sum>(executor, std::vector<Sum>(channels, value)); }
  [[nodiscard]] mezzo::BatchNormWeights<Sum> weights() const { return {.gamma = gamma.span(), .beta = beta.span()}; }

  E executor;
  ImageShape shape;
  mezzo::Workspace<E> workspace;
  std::size_t count, channels;
  Buffer<T> x, shortcut, dy, more;
  Buffer<Sum> gamma, beta;
};

/// Statistics and running statistics of one forward pass.
template <class E, class T>
struct Statistics {
  using Sum = sum_of_t<T>;
  explicit Statistics(const Problem<E, T>& problem)
      : mean(problem.per_channel()), inverse(problem.per_channel()), running_mean(problem.per_channel(1)), running_variance(problem.per_channel(2)) {}
  [[nodiscard]] mezzo::BatchNormRunning<Sum> running() const { return {.mean = running_mean.span(), .variance = running_variance.span()}; }
  [[nodiscard]] mezzo::BatchNormSaved<Sum> saved() const { return {.mean = mean.span(), .inv_std = inverse.span()}; }
  [[nodiscard]] mezzo::BatchNormSaved<const Sum> read() const { return {.mean = mean.span(), .inv_std = inverse.span()}; }
  Buffer<Sum> mean, inverse, running_mean, running_variance;
};

TEST_CASE_TEMPLATE("with_relu_every_bit_is_that_of_the_two_ops_one_after_the_other", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using E = typename Case::Executor;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const ImageShape& shape : shapes) {
    CAPTURE(&shape - shapes);
    Problem<E, T> problem(executor, shape);
    const Statistics<E, T> joined(problem), apart(problem);
    const Buffer<T> y = problem.data(), expected = problem.data();
    mezzo::batch_norm_relu<Policy>(problem.workspace, shape, problem.x, problem.weights(), joined.running(), joined.saved(), y);
    mezzo::batch_norm<Policy>(problem.workspace, shape, problem.x, problem.weights(), apart.running(), apart.saved(), expected);
    mezzo::relu<Policy>(problem.workspace, expected, expected);
    CHECK(bits_of(y.read()) == bits_of(expected.read()));
    CHECK(bits_of(joined.mean.read()) == bits_of(apart.mean.read()));
    CHECK(bits_of(joined.inverse.read()) == bits_of(apart.inverse.read()));
    CHECK(bits_of(joined.running_mean.read()) == bits_of(apart.running_mean.read()));
    CHECK(bits_of(joined.running_variance.read()) == bits_of(apart.running_variance.read()));

    // The mask is the output's, to the last element, and the sums have the same order.
    const Buffer<T> dx = problem.data(), expected_dx = problem.data();
    const auto dgamma = problem.per_channel(), dbeta = problem.per_channel(), expected_dgamma = problem.per_channel(), expected_dbeta = problem.per_channel();
    mezzo::batch_norm_relu_backward<Policy>(problem.workspace, shape, problem.x, y, problem.dy, problem.weights(), joined.read(), dx,
                                            {.gamma = dgamma.span(), .beta = dbeta.span()});
    mezzo::relu_backward<Policy>(problem.workspace, expected, problem.dy, expected_dx);
    mezzo::batch_norm_backward<Policy>(problem.workspace, shape, problem.x, expected_dx, problem.weights(), apart.read(), expected_dx,
                                       {.gamma = expected_dgamma.span(), .beta = expected_dbeta.span()});
    CHECK(bits_of(dx.read()) == bits_of(expected_dx.read()));
    CHECK(bits_of(dgamma.read()) == bits_of(expected_dgamma.read()));
    CHECK(bits_of(dbeta.read()) == bits_of(expected_dbeta.read()));

    const Buffer<T> inferred = problem.data();
    mezzo::batch_norm_relu_inference<Policy>(problem.workspace, shape, problem.x, problem.weights(), {.mean = apart.running_mean.span(), .variance = apart.running_variance.span()}, inferred);
    mezzo::batch_norm_inference<Policy>(problem.workspace, shape, problem.x, problem.weights(), {.mean = apart.running_mean.span(), .variance = apart.running_variance.span()}, expected);
    mezzo::relu<Policy>(problem.workspace, expected, expected);
    CHECK(bits_of(inferred.read()) == bits_of(expected.read()));
  }
}

TEST_CASE_TEMPLATE("with_a_shortcut_outputs_differ_from_the_separate_ops_by_one_rounding", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using E = typename Case::Executor;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const ImageShape& shape : shapes) {
    CAPTURE(&shape - shapes);
    Problem<E, T> problem(executor, shape);
    const Statistics<E, T> joined(problem), apart(problem);
    const Buffer<T> y = problem.data(), normalised = problem.data();
    mezzo::batch_norm_add_relu<Policy>(problem.workspace, shape, problem.x, problem.shortcut, problem.weights(), joined.running(), joined.saved(), y);
    mezzo::batch_norm<Policy>(problem.workspace, shape, problem.x, problem.weights(), apart.running(), apart.saved(), normalised);
    CHECK(bits_of(joined.mean.read()) == bits_of(apart.mean.read()));
    CHECK(bits_of(joined.running_variance.read()) == bits_of(apart.running_variance.read()));
    // y rounds v + s once in Sum and once to T (on some executors v, too); `normalised` is v rounded to T.
    const long double u = unit_roundoff<T>();
    const auto check = [&](const std::vector<T>& got, const std::vector<T>& v, const std::vector<T>& s) {
      for (std::size_t i = 0; i < got.size(); ++i) {
        const long double sum = exact(v[i]) + exact(s[i]), expected = std::max(sum, 0.L);
        const long double from_v = 2 * u * std::abs(exact(v[i])) + exact(mezzo::element_limits<T>::smallest_subnormal());
        REQUIRE(std::abs(exact(got[i]) - expected) <= from_v + 3 * u * (std::abs(sum) + from_v));
      }
    };
    const auto shortcut = problem.shortcut.read();
    check(y.read(), normalised.read(), shortcut);
    const mezzo::BatchNormRunning<const sum_of_t<T>> running{.mean = apart.running_mean.span(), .variance = apart.running_variance.span()};
    mezzo::batch_norm_add_relu_inference<Policy>(problem.workspace, shape, problem.x, problem.shortcut, problem.weights(), running, y);
    mezzo::batch_norm_inference<Policy>(problem.workspace, shape, problem.x, problem.weights(), running, normalised);
    check(y.read(), normalised.read(), shortcut);
  }
}

TEST_CASE_TEMPLATE("with_a_shortcut_gradients_are_those_of_the_masked_sum", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using E = typename Case::Executor;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const ImageShape& shape : shapes) {
    for (const bool two : {false, true}) {
      CAPTURE(&shape - shapes);
      CAPTURE(two);
      Problem<E, T> problem(executor, shape);
      const Statistics<E, T> statistics(problem);
      const Buffer<T> y = problem.data(), dx = problem.data(), dshortcut = problem.data(), masked = problem.data();
      mezzo::batch_norm_add_relu<Policy>(problem.workspace, shape, problem.x, problem.shortcut, problem.weights(), statistics.running(), statistics.saved(), y);
      const auto dgamma = problem.per_channel(), dbeta = problem.per_channel();
      const auto more = two ? problem.more.span() : mezzo::Span<T>{};
      mezzo::batch_norm_add_relu_backward<Policy>(problem.workspace, shape, problem.x, y, problem.dy, more, problem.weights(), statistics.read(), dx, dshortcut,
                                                  {.gamma = dgamma.span(), .beta = dbeta.span()});
      if (two) mezzo::add<Policy>(problem.workspace, problem.dy, problem.more, masked);
      mezzo::relu_backward<Policy>(problem.workspace, y, two ? masked.span() : problem.dy.span(), masked);
      CHECK(bits_of(dshortcut.read()) == bits_of(masked.read()));

      const auto x = problem.x.read(), g = masked.read(), got_dx = dx.read();
      const auto got_dgamma = dgamma.read(), got_dbeta = dbeta.read(), mean = statistics.mean.read(), inverse = statistics.inverse.read(), gamma = problem.gamma.read();
      const std::size_t channels = problem.channels;
      const auto rows = static_cast<long double>(problem.count / channels);
      for (std::size_t c = 0; c < channels; ++c) {
        Sums sum, products;
        for (std::size_t i = c; i < x.size(); i += channels) {
          sum.add(exact(g[i]));
          products.add(exact(g[i]) * (exact(x[i]) - exact(mean[c])));
        }
        // The products have one more rounding, the distance.
        const long double sum_error = gamma_n<Sum>(sum.terms) * sum.magnitude, products_error = gamma_n<Sum>(products.terms + 1) * products.magnitude;
        const long double u = unit_roundoff<Sum>(), s = exact(inverse[c]), factor = exact(gamma[c]) * s;
        REQUIRE(std::abs(exact(got_dbeta[c]) - sum.value) <= sum_error + u * (std::abs(sum.value) + sum_error));
        REQUIRE(std::abs(exact(got_dgamma[c]) - products.value * s) <= products_error * s + u * s * (std::abs(products.value) + products_error));
        for (std::size_t i = c; i < x.size(); i += channels) {
          const long double d = exact(x[i]) - exact(mean[c]);
          const long double terms[] = {factor * exact(g[i]), -factor * s * s * products.value / rows * d, -factor * sum.value / rows};
          const long double expected = terms[0] + terms[1] + terms[2];
          const long double error = gamma_n<Sum>(4) * (std::abs(terms[0]) + std::abs(terms[1]) + std::abs(terms[2])) +
                                    (1 + gamma_n<Sum>(4)) * std::abs(factor) * (s * s * products_error * std::abs(d) + sum_error) / rows;
          REQUIRE(std::abs(exact(got_dx[i]) - expected) <= rounded_bound<T, Sum>(error, expected));
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("gradients_may_take_the_place_of_what_they_come_from", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using E = typename Case::Executor;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(E, executor);
  const ImageShape shape = shapes[0];
  Problem<E, T> problem(executor, shape);
  const Statistics<E, T> statistics(problem);
  const Buffer<T> y = problem.data(), dx = problem.data(), dshortcut = problem.data();
  const auto dgamma = problem.per_channel(), dbeta = problem.per_channel();
  const mezzo::BatchNormGradients<sum_of_t<T>> gradients{.gamma = dgamma.span(), .beta = dbeta.span()};
  mezzo::batch_norm_add_relu<Policy>(problem.workspace, shape, problem.x, problem.shortcut, problem.weights(), {}, statistics.saved(), y);
  mezzo::batch_norm_add_relu_backward<Policy>(problem.workspace, shape, problem.x, y, problem.dy, problem.more, problem.weights(), statistics.read(), dx, dshortcut, gradients);
  const auto once = dbeta.read();
  const Buffer<T> in_place(executor, problem.dy.read()), other_dx = problem.data();
  mezzo::batch_norm_add_relu_backward<Policy>(problem.workspace, shape, problem.x, y, in_place, problem.more, problem.weights(), statistics.read(), other_dx, in_place, gradients, Accumulate::yes);
  CHECK(bits_of(in_place.read()) == bits_of(dshortcut.read()));
  CHECK(bits_of(other_dx.read()) == bits_of(dx.read()));
  const Buffer<T> over_more(executor, problem.more.read()), third_dx = problem.data();
  mezzo::batch_norm_add_relu_backward<Policy>(problem.workspace, shape, problem.x, y, problem.dy, over_more, problem.weights(), statistics.read(), third_dx, over_more,
                                              {.gamma = problem.per_channel().span(), .beta = problem.per_channel().span()});
  CHECK(bits_of(over_more.read()) == bits_of(dshortcut.read()));
  CHECK(bits_of(third_dx.read()) == bits_of(dx.read()));
  for (std::size_t c = 0; c < once.size(); ++c) {  // the sum before rounding is within half an ulp of the stored one
    CHECK(std::abs(exact(dbeta.read()[c]) - 2 * exact(once[c])) <= 3 * unit_roundoff<sum_of_t<T>>() * std::abs(exact(once[c])));
  }

  mezzo::batch_norm_relu<Policy>(problem.workspace, shape, problem.x, problem.weights(), {}, statistics.saved(), y);
  mezzo::batch_norm_relu_backward<Policy>(problem.workspace, shape, problem.x, y, problem.dy, problem.weights(), statistics.read(), dx, gradients);
  const Buffer<T> over(executor, problem.dy.read());
  mezzo::batch_norm_relu_backward<Policy>(problem.workspace, shape, problem.x, y, over, problem.weights(), statistics.read(), over, gradients);
  CHECK(bits_of(over.read()) == bits_of(dx.read()));
}

TEST_CASE_TEMPLATE("an_empty_batch_gives_parameter_gradients_of_zero", Where, MEZZO_OPS_EXECUTORS) {
  using Policy = mezzo::Autocast<mezzo::float16>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  const ImageShape shape{.batch = 0, .height = 2, .width = 2, .channels = 8};
  Problem<Where, mezzo::float16> problem(executor, shape);
  const Statistics<Where, mezzo::float16> statistics(problem);
  const auto dgamma = problem.per_channel(), dbeta = problem.per_channel();
  const auto none = problem.data();
  mezzo::batch_norm_relu<Policy>(problem.workspace, shape, none, problem.weights(), statistics.running(), statistics.saved(), none);
  CHECK(statistics.running_mean.read() == std::vector<float>(8, 1));
  mezzo::batch_norm_relu_backward<Policy>(problem.workspace, shape, none, none, none, problem.weights(), statistics.read(), none,
                                          {.gamma = dgamma.span(), .beta = dbeta.span()});
  CHECK(dgamma.read() == std::vector<float>(8));
  CHECK(dbeta.read() == std::vector<float>(8));
}

TEST_CASE("sizes_that_do_not_fit_and_overlap_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  const ImageShape shape{.batch = 2, .height = 3, .width = 1, .channels = 2};
  mezzo::Workspace workspace{executor, mezzo::batch_norm_workspace_bytes<float>(executor, shape)};
  std::vector<float> x(12), y(12), other(12), dx(12), two(2, 1.f), mean(2), inverse(2, 1.f), wrong(3);
  const mezzo::BatchNormWeights<float> weights{.gamma = two, .beta = two};
  const mezzo::BatchNormSaved<float> saved{.mean = mean, .inv_std = inverse};
  const auto refusal = [&](auto&& call) { return message_of<InvalidArgument>(call); };
  const auto forward = [&](auto& in, auto& out) { return refusal([&] { mezzo::batch_norm_relu<Policy>(workspace, shape, in, weights, {}, saved, out); }); };
  CHECK(forward(x, y) == "");
  CHECK(forward(wrong, y).find("batch_norm_relu_test.cpp:") == 0);
  CHECK(forward(wrong, y).ends_with("batch_norm_relu: x must have 12 elements, got 3"));
  CHECK(forward(x, wrong).ends_with("batch_norm_relu: y must have 12 elements, got 3"));
  CHECK(forward(x, x).ends_with("batch_norm_relu: y must not overlap x"));
  const auto add_forward = [&](auto& in, auto& shortcut, auto& out) {
    return refusal([&] { mezzo::batch_norm_add_relu<Policy>(workspace, shape, in, shortcut, weights, {}, saved, out); });
  };
  CHECK(add_forward(x, other, y) == "");
  CHECK(add_forward(x, wrong, y).ends_with("batch_norm_add_relu: shortcut must have 12 elements, got 3"));
  CHECK(add_forward(x, y, y).ends_with("batch_norm_add_relu: y must not overlap shortcut"));
  CHECK(refusal([&] {
          mezzo::batch_norm_add_relu<Policy>(workspace, shape, x, other, {.gamma = wrong, .beta = two}, {}, saved, y);
        }).ends_with("batch_norm_add_relu: gamma must have 2 elements, got 3"));
  const mezzo::BatchNormSaved<const float> read{.mean = two, .inv_std = two};
  std::vector<float> dgamma(2), dbeta(2);
  const mezzo::BatchNormGradients<float> gradients{.gamma = dgamma, .beta = dbeta};
  CHECK(refusal([&] { mezzo::batch_norm_relu_backward<Policy>(workspace, shape, x, y, other, weights, read, x, gradients); })
            .ends_with("batch_norm_relu_backward: dx must not overlap x"));
  CHECK(refusal([&] { mezzo::batch_norm_relu_backward<Policy>(workspace, shape, x, y, wrong, weights, read, dx, gradients); })
            .ends_with("batch_norm_relu_backward: dy must have 12 elements, got 3"));
  CHECK(refusal([&] { mezzo::batch_norm_relu_inference<Policy>(workspace, shape, x, weights, {.mean = two, .variance = wrong}, y); })
            .ends_with("batch_norm_relu_inference: running.variance must have 2 elements, got 3"));
  CHECK(refusal([&] { mezzo::batch_norm_relu_inference<Policy>(workspace, shape, x, weights, {}, y); })
            .ends_with("batch_norm_relu_inference: running.mean must have 2 elements, got 0"));
  CHECK(refusal([&] { mezzo::batch_norm_add_relu_inference<Policy>(workspace, shape, x, y, weights, {.mean = two, .variance = two}, y); })
            .ends_with("batch_norm_add_relu_inference: y must not overlap shortcut"));
  CHECK(refusal([&] { mezzo::batch_norm_add_relu_backward<Policy>(workspace, shape, x, y, other, std::vector<float>{}, weights, read, dx, wrong, gradients); })
            .ends_with("batch_norm_add_relu_backward: dshortcut must have 12 elements, got 3"));
  CHECK(refusal([&] { mezzo::batch_norm_add_relu_backward<Policy>(workspace, shape, x, y, other, wrong, weights, read, dx, other, gradients); })
            .ends_with("batch_norm_add_relu_backward: more must have 12 elements, got 3"));
  CHECK(refusal([&] { mezzo::batch_norm_add_relu_backward<Policy>(workspace, shape, x, y, other, std::vector<float>{}, weights, read, dx, dx, gradients); })
            .ends_with("batch_norm_add_relu_backward: dx must not overlap dshortcut"));
  const mezzo::BatchNormSaved<float> over{.mean = two, .inv_std = inverse};
  CHECK(refusal([&] { mezzo::batch_norm_relu<Policy>(workspace, shape, x, weights, {}, over, y); })
            .ends_with("batch_norm_relu: saved.mean must not overlap gamma"));
  const mezzo::BatchNormSaved<float> inside{.mean = {other.data(), 2}, .inv_std = inverse};
  CHECK(refusal([&] { mezzo::batch_norm_add_relu<Policy>(workspace, shape, x, other, weights, {}, inside, y); })
            .ends_with("batch_norm_add_relu: saved.mean must not overlap shortcut"));
  const mezzo::BatchNormGradients<float> same{.gamma = dgamma, .beta = dgamma};
  CHECK(refusal([&] { mezzo::batch_norm_relu_backward<Policy>(workspace, shape, x, y, other, weights, read, dx, same); })
            .ends_with("batch_norm_relu_backward: gradients.beta must not overlap gradients.gamma"));
  const mezzo::BatchNormGradients<float> in_shortcut{.gamma = {other.data(), 2}, .beta = dbeta};
  CHECK(refusal([&] { mezzo::batch_norm_add_relu_backward<Policy>(workspace, shape, x, y, y, std::vector<float>{}, weights, read, dx, other, in_shortcut); })
            .ends_with("batch_norm_add_relu_backward: gradients.gamma must not overlap dshortcut"));
}

}  // namespace
