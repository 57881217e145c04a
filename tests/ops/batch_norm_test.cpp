#include <mezzo/ops/batch_norm.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;
using mezzo::BatchNormOptions;
using mezzo::convert;
using mezzo::ImageShape;
using mezzo::Span;

std::size_t rows_of(const ImageShape& s) { return static_cast<std::size_t>(s.batch * s.height * s.width); }
std::size_t channels_of(const ImageShape& s) { return static_cast<std::size_t>(s.channels); }

/// One channel's exact statistics, and what the computed ones may differ by.
///
/// In Sum, with R rows: a mean is wrong by at most m = gamma(R) mean|x|; the sum of squared distances about a mean wrong by
/// m, relatively by gamma(R + 3), and by 2 m D + m^2 in each of its terms, where D is the largest distance. Chunks are
/// merged in double, which is exact beside that.
template <class Sum>
struct Channel {
  long double mean = 0, variance = 0, mean_error = 0, variance_error = 0, inverse = 0, inverse_error = 0;

  template <class T>
  Channel(const std::vector<T>& x, std::size_t channel, std::size_t channels, double epsilon) {
    const std::size_t rows = x.size() / channels;
    const auto count = static_cast<long double>(rows);
    long double magnitude = 0, distance = 0;
    for (std::size_t r = 0; r < rows; ++r) mean += exact(x[r * channels + channel]) / count, magnitude += std::abs(exact(x[r * channels + channel])) / count;
    for (std::size_t r = 0; r < rows; ++r) {
      const long double d = exact(x[r * channels + channel]) - mean;
      variance += d * d / count;
      distance = std::max(distance, std::abs(d));
    }
    const long double u = unit_roundoff<Sum>();
    mean_error = gamma_n<Sum>(rows + 1) * magnitude + u * std::abs(mean);
    variance_error = gamma_n<Sum>(rows + 3) * variance + 2 * mean_error * distance + mean_error * mean_error;
    const auto e = static_cast<long double>(epsilon);
    inverse = 1 / std::sqrt(variance + e);
    inverse_error = 1 / std::sqrt(std::max(variance - variance_error, 0.L) + e) - inverse + u * inverse;
  }

  /// Error of (x - mean) * (inverse * gamma) + beta in Sum: the errors of mean and inverse, and one rounding of each step.
  [[nodiscard]] long double normalised_error(long double x, long double gamma, long double beta) const {
    const long double u = unit_roundoff<Sum>();
    const long double d = std::abs(x - mean) + mean_error;
    const long double factor = std::abs(gamma) * (inverse + inverse_error);
    return std::abs(gamma) * inverse * mean_error + std::abs(gamma) * inverse_error * d + 4 * u * factor * d + 2 * u * (std::abs(beta) + factor * d);
  }
};

constexpr ImageShape shapes[] = {{.batch = 2, .height = 6, .width = 6, .channels = 16},  {.batch = 1, .height = 16, .width = 32, .channels = 3},
                                 {.batch = 3, .height = 1, .width = 1, .channels = 17},  {.batch = 1, .height = 1, .width = 1, .channels = 5},
                                 {.batch = 2, .height = 8, .width = 8, .channels = 520}, {.batch = 1, .height = 1, .width = 1100, .channels = 1}};

/// The operands of a training step, with their copies in the executor's memory.
template <class E, class T>
struct Problem {
  using Sum = sum_of_t<T>;

  Problem(const E& on, const ImageShape& given, double offset = 0)
      : executor(on),
        shape(given),
        workspace(poisoned_workspace(on, mezzo::batch_norm_workspace_bytes<T>(on, given))),
        x(random_values<T>(rows_of(given) * channels_of(given), 1, offset)),
        gamma(random_values<Sum>(channels_of(given), 2, 1.5)),
        beta(random_values<Sum>(channels_of(given), 3)),
        in(on, x),
        y(on, std::vector<T>(x.size(), mezzo::element_limits<T>::quiet_nan())),
        scale(on, gamma),
        shift(on, beta),
        running_mean(on, std::vector<Sum>(gamma.size(), 1)),
        running_variance(on, std::vector<Sum>(gamma.size(), 2)),
        mean(on, gamma.size()),
        inverse(on, gamma.size()) {}

  void forward(const BatchNormOptions& options = {}) {
    mezzo::batch_norm<policy_of<T>>(workspace, shape, in, {.gamma = scale.span(), .beta = shift.span()},
                                    {.mean = running_mean.span(), .variance = running_variance.span()},
                                    {.mean = mean.span(), .inv_std = inverse.span()}, y, options);
  }

  E executor;
  ImageShape shape;
  mezzo::Workspace<E> workspace;
  std::vector<T> x;
  std::vector<Sum> gamma, beta;
  Buffer<T> in, y;
  Buffer<Sum> scale, shift, running_mean, running_variance, mean, inverse;
};

TEST_CASE_TEMPLATE("normalises_with_the_batch_statistics_within_the_bound_also_about_a_large_mean", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (const ImageShape& shape : shapes) {
    for (const double offset : {0., 100.}) {
      CAPTURE(&shape - shapes);
      CAPTURE(offset);
      Problem<typename Case::Executor, T> problem(executor, shape, offset);
      problem.forward();
      const auto y = problem.y.read();
      const std::size_t channels = channels_of(shape);
      const std::size_t rows = rows_of(shape);
      const auto saved_mean = problem.mean.read(), saved_inverse = problem.inverse.read();
      const auto running_mean = problem.running_mean.read(), running_variance = problem.running_variance.read();
      for (std::size_t c = 0; c < channels; ++c) {
        const Channel<Sum> channel(problem.x, c, channels, 1e-5);
        REQUIRE(std::abs(exact(saved_mean[c]) - channel.mean) <= channel.mean_error);
        REQUIRE(std::abs(exact(saved_inverse[c]) - channel.inverse) <= channel.inverse_error);
        for (std::size_t r = 0; r < rows; ++r) {
          const std::size_t i = r * channels + c;
          const long double gamma = exact(problem.gamma[c]), beta = exact(problem.beta[c]);
          const long double expected = (exact(problem.x[i]) - channel.mean) * channel.inverse * gamma + beta;
          const long double bound = rounded_bound<T, Sum>(channel.normalised_error(exact(problem.x[i]), gamma, beta), expected);
          REQUIRE(std::abs(exact(y[i]) - expected) <= bound);
        }
        // running + 0.1 (batch - running), the variance unbiased; in double, rounded once.
        const long double u = unit_roundoff<Sum>();
        const long double correction = rows > 1 ? static_cast<long double>(rows) / static_cast<long double>(rows - 1) : 1;
        const long double unbiased = channel.variance * correction;
        const long double mean = 1 + 0.1L * (channel.mean - 1), variance = 2 + 0.1L * (unbiased - 2);
        REQUIRE(std::abs(exact(running_mean[c]) - mean) <= 0.1L * channel.mean_error + 2 * u * std::abs(mean));
        REQUIRE(std::abs(exact(running_variance[c]) - variance) <= 0.1L * channel.variance_error * correction + 2 * u * std::abs(variance));
      }
    }
  }
}

TEST_CASE_TEMPLATE("inference_uses_the_running_statistics", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (const ImageShape& shape : shapes) {
    Problem<typename Case::Executor, T> problem(executor, shape);
    const std::size_t channels = channels_of(shape);
    const auto mean = random_values<Sum>(channels, 5), variance = random_values<Sum>(channels, 6, 2);
    mezzo::batch_norm_inference<policy_of<T>>(problem.workspace, shape, problem.in, {.gamma = problem.scale.span(), .beta = problem.shift.span()},
                                              {.mean = Buffer<Sum>(executor, mean).span(), .variance = Buffer<Sum>(executor, variance).span()}, problem.y,
                                              {.epsilon = 1e-3});
    const auto y = problem.y.read();
    const long double u = unit_roundoff<Sum>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t c = i % channels;
      const long double factor = exact(problem.gamma[c]) / std::sqrt(exact(variance[c]) + static_cast<long double>(1e-3));
      const long double product = (exact(problem.x[i]) - exact(mean[c])) * factor;
      const long double expected = product + exact(problem.beta[c]);
      // roundings: the distance, the factor, the product; then the sum. The factor is computed in double, which is three of its own
      // (sum, root, quotient) where it is not rounded to float.
      const long double before = gamma_n<Sum>(std::is_same_v<Sum, double> ? 5 : 3) * std::abs(product);
      const long double error = before + u * (std::abs(expected) + before);
      REQUIRE(std::abs(exact(y[i]) - expected) <= rounded_bound<T, Sum>(error, expected));
    }
  }
}

TEST_CASE_TEMPLATE("gradients_agree_with_finite_differences", Where, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(Where, executor);
  for (const ImageShape& shape : {ImageShape{.batch = 2, .height = 3, .width = 2, .channels = 3}, ImageShape{.batch = 1, .height = 1, .width = 40, .channels = 1},
                                  ImageShape{.batch = 2, .height = 1, .width = 1, .channels = 2}}) {
    Problem<Where, double> problem(executor, shape);
    const auto dy = random_values<double>(problem.x.size(), 7);
    const Buffer<double> gradient(executor, dy), dx(executor, problem.x.size()), dgamma(executor, problem.gamma.size()), dbeta(executor, problem.gamma.size());
    const auto loss = [&](const std::vector<double>& x, const std::vector<double>& gamma, const std::vector<double>& beta) {
      problem.in.write(x), problem.scale.write(gamma), problem.shift.write(beta);
      problem.forward({.epsilon = .01});
      return inner(problem.y.read(), dy);
    };
    loss(problem.x, problem.gamma, problem.beta);
    const double magnitude = inner_magnitude(problem.y.read(), dy);
    mezzo::batch_norm_backward<policy_of<double>>(problem.workspace, shape, problem.in, gradient, {.gamma = problem.scale.span(), .beta = {}},
                                                  {.mean = problem.mean.span(), .inv_std = problem.inverse.span()}, dx,
                                                  {.gamma = dgamma.span(), .beta = dbeta.span()});
    const auto got_dx = dx.read(), got_dgamma = dgamma.read(), got_dbeta = dbeta.read();
    check_gradient(problem.x, got_dx, magnitude, [&](const auto& at) { return loss(at, problem.gamma, problem.beta); });
    check_gradient(problem.gamma, got_dgamma, magnitude, [&](const auto& at) { return loss(problem.x, at, problem.beta); });
    check_gradient(problem.beta, got_dbeta, magnitude, [&](const auto& at) { return loss(problem.x, problem.gamma, at); });
  }
}

TEST_CASE_TEMPLATE("low_precision_gradients_stay_within_the_bound_of_their_sums", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (const ImageShape& shape : shapes) {
    CAPTURE(&shape - shapes);
    Problem<typename Case::Executor, T> problem(executor, shape);
    const std::size_t channels = channels_of(shape);
    const auto count = static_cast<long double>(rows_of(shape));
    const auto dy = random_values<T>(problem.x.size(), 7);
    // Statistics as given, exact: what is measured is the backward pass alone.
    const auto mean = random_values<Sum>(channels, 8), inverse = random_values<Sum>(channels, 9, 1.5);
    const Buffer<T> gradient(executor, dy), dx(executor, std::vector<T>(dy.size(), mezzo::element_limits<T>::quiet_nan()));
    const Buffer<Sum> dgamma(executor, channels), dbeta(executor, channels), saved_mean(executor, mean), saved_inverse(executor, inverse);
    mezzo::batch_norm_backward<policy_of<T>>(problem.workspace, shape, problem.in, gradient, {.gamma = problem.scale.span(), .beta = {}},
                                             {.mean = saved_mean.span(), .inv_std = saved_inverse.span()}, dx, {.gamma = dgamma.span(), .beta = dbeta.span()});
    const auto got_dx = dx.read();
    const auto got_dgamma = dgamma.read(), got_dbeta = dbeta.read();
    for (std::size_t c = 0; c < channels; ++c) {
      Sums sum, products;
      for (std::size_t i = c; i < dy.size(); i += channels) {
        sum.add(exact(dy[i]));
        products.add(exact(dy[i]) * (exact(problem.x[i]) - exact(mean[c])));
      }
      // Each term of the products has one more rounding, the distance.
      const long double sum_error = gamma_n<Sum>(sum.terms) * sum.magnitude, products_error = gamma_n<Sum>(products.terms + 1) * products.magnitude;
      const long double u = unit_roundoff<Sum>(), s = exact(inverse[c]), g = exact(problem.gamma[c]);
      REQUIRE(std::abs(exact(got_dbeta[c]) - sum.value) <= sum_error + u * (std::abs(sum.value) + sum_error));
      REQUIRE(std::abs(exact(got_dgamma[c]) - products.value * s) <= products_error * s + u * s * (std::abs(products.value) + products_error));
      for (std::size_t i = c; i < dy.size(); i += channels) {
        const long double d = exact(problem.x[i]) - exact(mean[c]);
        const long double a = g * s * exact(dy[i]), b = -g * s * s * s * products.value / count * d, e = -g * s * sum.value / count;
        const long double error = gamma_n<Sum>(4) * (std::abs(a) + std::abs(b) + std::abs(e)) +
                                  (1 + gamma_n<Sum>(4)) * std::abs(g) * s * (s * s * products_error / count * std::abs(d) + sum_error / count);
        REQUIRE(std::abs(exact(got_dx[i]) - (a + b + e)) <= rounded_bound<T, Sum>(error, a + b + e));
      }
    }
  }
}

TEST_CASE_TEMPLATE("works_in_place_and_adds_parameter_gradients_where_asked", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const ImageShape shape{.batch = 3, .height = 5, .width = 5, .channels = 7};
  Problem<typename Case::Executor, T> problem(executor, shape);
  problem.forward();
  const Buffer<T> y(executor, problem.x);
  mezzo::batch_norm<policy_of<T>>(problem.workspace, shape, y, {.gamma = problem.scale.span(), .beta = problem.shift.span()}, {},
                                  {.mean = problem.mean.span(), .inv_std = problem.inverse.span()}, y);
  CHECK(bits_of(y.read()) == bits_of(problem.y.read()));

  const auto dy = random_values<T>(problem.x.size(), 7);
  const Buffer<T> gradient(executor, dy), dx(executor, dy.size());
  const Buffer<Sum> dgamma(executor, 7), dbeta(executor, 7);
  const auto backward = [&](const Buffer<T>& by_y, const Buffer<T>& by_x, Accumulate accumulate) {
    mezzo::batch_norm_backward<policy_of<T>>(problem.workspace, shape, problem.in, by_y, {.gamma = problem.scale.span(), .beta = {}},
                                             {.mean = problem.mean.span(), .inv_std = problem.inverse.span()}, by_x,
                                             {.gamma = dgamma.span(), .beta = dbeta.span()}, accumulate);
  };
  backward(gradient, dx, Accumulate::no);
  const auto once_gamma = dgamma.read(), once_beta = dbeta.read();
  backward(gradient, gradient, Accumulate::yes);
  CHECK(bits_of(gradient.read()) == bits_of(dx.read()));
  for (std::size_t c = 0; c < 7; ++c) {  // the sum before rounding is within half an ulp of the stored one
    CHECK(std::abs(exact(dgamma.read()[c]) - 2 * exact(once_gamma[c])) <= 3 * unit_roundoff<Sum>() * std::abs(exact(once_gamma[c])));
    CHECK(std::abs(exact(dbeta.read()[c]) - 2 * exact(once_beta[c])) <= 3 * unit_roundoff<Sum>() * std::abs(exact(once_beta[c])));
  }
}

TEST_CASE_TEMPLATE("a_channel_without_spread_gives_beta_and_a_nan_stays_in_its_channel", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const ImageShape shape{.batch = 2, .height = 3, .width = 3, .channels = 4};
  Problem<typename Case::Executor, T> problem(executor, shape);
  auto x = problem.x;
  for (std::size_t r = 0; r < 18; ++r) x[r * 4 + 1] = convert<T>(3.f);
  x[5 * 4 + 2] = mezzo::element_limits<T>::quiet_nan();
  x[5 * 4 + 3] = mezzo::element_limits<T>::infinity();
  problem.in.write(x);
  problem.forward();
  const auto y = problem.y.read();
  for (std::size_t r = 0; r < 18; ++r) {
    CHECK(mezzo::is_finite(y[r * 4]));
    CHECK(mezzo::to_bits(y[r * 4 + 1]) == mezzo::to_bits(convert<T>(problem.beta[1])));
    CHECK(mezzo::is_nan(y[r * 4 + 2]));
    CHECK(mezzo::is_nan(y[r * 4 + 3]));
  }
  CHECK(problem.running_variance.read()[1] == doctest::Approx(1.8));
}

TEST_CASE("an_empty_batch_leaves_the_statistics_alone_and_gives_gradients_of_zero") {
  const mezzo::HostExecutor executor;
  const ImageShape shape{.batch = 0, .height = 3, .width = 3, .channels = 4};
  Problem<mezzo::HostExecutor, float> problem(executor, shape);
  problem.forward();
  CHECK(problem.running_mean.read() == std::vector<float>(4, 1));
  CHECK(problem.running_variance.read() == std::vector<float>(4, 2));
  std::vector<float> dgamma(4, 7), dbeta(4, 7);
  mezzo::batch_norm_backward<mezzo::Autocast<float>>(problem.workspace, shape, problem.in, problem.in, {.gamma = problem.gamma, .beta = {}},
                                                     {.mean = problem.mean.span(), .inv_std = problem.inverse.span()}, problem.y,
                                                     {.gamma = dgamma, .beta = dbeta});
  CHECK(dgamma == std::vector<float>(4));
  CHECK(dbeta == std::vector<float>(4));
}

TEST_CASE("sizes_and_options_that_do_not_fit_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  const ImageShape shape{.batch = 2, .height = 3, .width = 1, .channels = 2};
  mezzo::Workspace workspace{executor, mezzo::batch_norm_workspace_bytes<float>(executor, shape)};
  std::vector<float> x(12), y(12), two(2, 1.f), running_mean(2), running_variance(2, 1.f), mean(2), inverse(2, 1.f), wrong(3);
  struct Call {
    std::vector<float>&x, &gamma, &beta, &running_mean, &running_variance, &mean, &inverse, &y;
    BatchNormOptions options = {};
  };
  const auto refusal = [&](const Call& c) {
    return message_of<InvalidArgument>([&] {
      mezzo::batch_norm<Policy>(workspace, shape, c.x, {.gamma = c.gamma, .beta = c.beta}, {.mean = c.running_mean, .variance = c.running_variance},
                                {.mean = c.mean, .inv_std = c.inverse}, c.y, c.options);
    });
  };
  std::vector<float> none;
  CHECK(refusal({x, two, two, running_mean, running_variance, mean, inverse, y}) == "");
  CHECK(refusal({x, two, two, none, none, mean, inverse, y}) == "");
  CHECK(refusal({wrong, two, two, running_mean, running_variance, mean, inverse, y}).find("batch_norm_test.cpp:") == 0);
  CHECK(refusal({wrong, two, two, running_mean, running_variance, mean, inverse, y}).ends_with("batch_norm: x must have 12 elements, got 3"));
  CHECK(refusal({x, wrong, two, running_mean, running_variance, mean, inverse, y}).ends_with("batch_norm: gamma must have 2 elements, got 3"));
  CHECK(refusal({x, two, wrong, running_mean, running_variance, mean, inverse, y}).ends_with("batch_norm: beta must have 2 elements, got 3"));
  CHECK(refusal({x, two, two, none, running_variance, mean, inverse, y}).ends_with("batch_norm: running.mean must have 2 elements, got 0"));
  CHECK(refusal({x, two, two, running_mean, wrong, mean, inverse, y}).ends_with("batch_norm: running.variance must have 2 elements, got 3"));
  CHECK(refusal({x, two, two, running_mean, running_variance, wrong, inverse, y}).ends_with("batch_norm: saved.mean must have 2 elements, got 3"));
  CHECK(refusal({x, two, two, running_mean, running_variance, mean, none, y}).ends_with("batch_norm: saved.inv_std must have 2 elements, got 0"));
  CHECK(refusal({x, two, two, running_mean, running_variance, mean, inverse, wrong}).ends_with("batch_norm: y must have 12 elements, got 3"));
  CHECK(refusal({x, two, two, running_mean, running_variance, mean, inverse, y, {.epsilon = 0}}).ends_with("batch_norm: epsilon must be positive, got 0"));
  CHECK(refusal({x, two, two, running_mean, running_variance, mean, inverse, y, {.momentum = 1.5}}).ends_with("batch_norm: momentum must be in [0, 1], got 1.5"));
  CHECK(refusal({x, two, two, running_mean, running_variance, mean, inverse, y, {.epsilon = std::numeric_limits<double>::quiet_NaN()}}).ends_with("batch_norm: epsilon must be positive, got nan"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::batch_norm_inference<Policy>(workspace, shape, x, {.gamma = two, .beta = two}, {.mean = wrong, .variance = two}, y); })
            .ends_with("batch_norm_inference: running.mean must have 2 elements, got 3"));
  CHECK(message_of<InvalidArgument>([&] {
          mezzo::batch_norm_backward<Policy>(workspace, shape, x, wrong, {.gamma = two, .beta = {}}, {.mean = two, .inv_std = two}, y, {.gamma = two, .beta = two});
        }).ends_with("batch_norm_backward: dy must have 12 elements, got 3"));
  CHECK(refusal({x, two, two, mean, running_variance, mean, inverse, y}).ends_with("batch_norm: saved.mean must not overlap running.mean"));
  CHECK(refusal({x, two, two, running_mean, running_mean, mean, inverse, y}).ends_with("batch_norm: running.variance must not overlap running.mean"));
  CHECK(refusal({x, two, two, running_mean, running_variance, two, inverse, y}).ends_with("batch_norm: saved.mean must not overlap gamma"));
  const auto inside = [&](Span<float> saved_mean, Span<float> of_gamma, Span<float> out) {
    return message_of<InvalidArgument>([&] {
      mezzo::batch_norm<Policy>(workspace, shape, x, {.gamma = of_gamma, .beta = two}, {}, {.mean = saved_mean, .inv_std = inverse}, out);
    });
  };
  CHECK(inside({y.data() + 3, 2}, two, y).ends_with("batch_norm: saved.mean must not overlap y"));
  CHECK(inside({x.data() + 10, 2}, two, y).ends_with("batch_norm: saved.mean must not overlap x"));
  CHECK(inside(mean, {y.data(), 2}, y).ends_with("batch_norm: y must not overlap gamma"));
  CHECK(message_of<InvalidArgument>([&] {
          mezzo::batch_norm_inference<Policy>(workspace, shape, x, {.gamma = two, .beta = two}, {.mean = Span<const float>(y.data(), 2), .variance = two}, y);
        }).ends_with("batch_norm_inference: y must not overlap running.mean"));
  const auto backward = [&](Span<float> dgamma, Span<float> dbeta, Span<float> dx) {
    return message_of<InvalidArgument>([&] {
      mezzo::batch_norm_backward<Policy>(workspace, shape, x, y, {.gamma = two, .beta = {}}, {.mean = mean, .inv_std = inverse}, dx, {.gamma = dgamma, .beta = dbeta});
    });
  };
  CHECK(backward(running_mean, running_variance, y) == "");
  CHECK(backward(running_mean, running_mean, y).ends_with("batch_norm_backward: gradients.beta must not overlap gradients.gamma"));
  CHECK(backward({y.data(), 2}, running_mean, y).ends_with("batch_norm_backward: gradients.gamma must not overlap dx"));
  CHECK(backward(two, running_mean, y).ends_with("batch_norm_backward: gradients.gamma must not overlap gamma"));
  CHECK(backward(running_mean, mean, y).ends_with("batch_norm_backward: gradients.beta must not overlap saved.mean"));
  CHECK(backward({x.data(), 2}, running_mean, y).ends_with("batch_norm_backward: gradients.gamma must not overlap x"));
  mezzo::Workspace small{executor, 8};
  const auto text = message_of<InvalidArgument>([&] { mezzo::batch_norm_inference<Policy>(small, shape, x, {.gamma = two, .beta = two}, {.mean = two, .variance = two}, y); });
  CHECK(text.find("batch_norm_inference: the workspace is too small: this shape needs ") != std::string::npos);
}

}  // namespace
