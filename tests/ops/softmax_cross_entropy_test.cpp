#include <mezzo/ops/softmax_cross_entropy.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

// Named: nvcc loses types of an unnamed namespace that is nested, as the macros of doctest nest one.
namespace softmax_cross_entropy_test {

using namespace mezzo::test;
using mezzo::Accumulate;
using mezzo::ClassificationShape;
using mezzo::convert;

std::vector<std::uint8_t> labels_for(const ClassificationShape& shape) {
  std::vector<std::uint8_t> labels;
  for (std::int64_t n = 0; n < shape.batch; ++n) labels.push_back(static_cast<std::uint8_t>(n * 7 % shape.classes));
  return labels;
}

/// One row, exactly. The computed values, in Sum: x - max rounds once (error u |d|), which exp turns into a relative one
/// beside its own, taken as 4 u (a library's exp and log are within 2 ulp); the sum of C terms adds gamma(C).
template <class Sum>
struct Row {
  std::vector<long double> probabilities;
  long double loss = 0, loss_error = 0;
  std::vector<long double> errors;  // of the probabilities

  template <class T>
  Row(const T* logits, std::size_t classes, std::size_t label) {
    const long double u = unit_roundoff<Sum>();
    long double largest = exact(logits[0]), sum = 0, sum_error = 0;
    for (std::size_t i = 1; i < classes; ++i) largest = std::max(largest, exact(logits[i]));
    for (std::size_t i = 0; i < classes; ++i) {
      const long double d = exact(logits[i]) - largest, e = std::exp(d);
      sum += e, sum_error += e * (u * std::abs(d) + 4 * u);
    }
    sum_error += gamma_n<Sum>(classes) * (sum + sum_error);
    const long double relative = sum_error / sum;
    for (std::size_t i = 0; i < classes; ++i) {
      const long double d = exact(logits[i]) - largest, p = std::exp(d) / sum;
      probabilities.push_back(p);
      errors.push_back(p * (1.01L * (relative + u * std::abs(d) + 4 * u + u)));  // 1.01: products of these errors
    }
    const long double distance = exact(logits[label]) - largest;
    loss = std::log(sum) - distance;
    loss_error = 1.01L * (relative + 4 * u * std::abs(std::log(sum)) + u * std::abs(distance) + u * std::abs(loss));
  }
};

constexpr ClassificationShape shapes[] = {{.batch = 64, .classes = 10}, {.batch = 1, .classes = 1}, {.batch = 7, .classes = 100}, {.batch = 33, .classes = 3}};

/// A scaler's view, as far as a loss looks at it.
struct View {
  float value;
  MEZZO_HOST_DEVICE float scale() const { return value; }
};

TEST_CASE_TEMPLATE("gives_mean_loss_count_and_scaled_gradient_within_the_bound", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  for (const ClassificationShape& shape : shapes) {
    const auto classes = static_cast<std::size_t>(shape.classes), batch = static_cast<std::size_t>(shape.batch);
    auto logits = random_values<T>(batch * classes, 1);
    for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] = convert<T>(convert<float>(logits[i]) * 8);
    const auto labels = labels_for(shape);
    const Buffer<T> in(executor, logits), dlogits(executor, logits.size());
    const Buffer<std::uint8_t> targets(executor, labels);
    const Buffer<Sum> loss(executor, std::vector<Sum>{9}), wide(executor, logits.size());
    const Buffer<std::int32_t> correct(executor, std::vector<std::int32_t>{9});
    const float scale = 24.f;
    mezzo::softmax_cross_entropy<Policy>(workspace, shape, in, targets, scale, {.loss = loss.span(), .correct = correct.span()}, dlogits);
    mezzo::softmax_cross_entropy<Policy>(workspace, shape, in, targets, View{scale}, {}, wide);

    const long double u = unit_roundoff<Sum>(), factor = 24.L / static_cast<long double>(batch);
    long double mean = 0, mean_error = 0;
    std::int32_t right = 0;
    const auto got = dlogits.read();
    const auto got_wide = wide.read();
    for (std::size_t n = 0; n < batch; ++n) {
      const Row<Sum> row(logits.data() + n * classes, classes, labels[n]);
      mean += row.loss / static_cast<long double>(batch), mean_error += row.loss_error / static_cast<long double>(batch);
      std::size_t best = 0;
      for (std::size_t i = 1; i < classes; ++i) best = exact(logits[n * classes + i]) > exact(logits[n * classes + best]) ? i : best;
      right += best == labels[n] ? 1 : 0;
      for (std::size_t i = 0; i < classes; ++i) {
        const long double difference = row.probabilities[i] - (i == labels[n] ? 1 : 0);
        const long double expected = difference * factor;
        const long double error = factor * (row.errors[i] + 3 * u * (std::abs(difference) + row.errors[i]));
        REQUIRE(std::abs(exact(got[n * classes + i]) - expected) <= rounded_bound<T, Sum>(error, expected));
        REQUIRE(std::abs(exact(got_wide[n * classes + i]) - expected) <= error);
      }
    }
    CHECK(std::abs(exact(loss.read()[0]) - mean) <= mean_error + u * std::abs(mean));
    CHECK(correct.read()[0] == right);

    const Buffer<Sum> alone(executor, 1);
    mezzo::cross_entropy<Policy>(workspace, shape, in, targets, {.loss = alone.span(), .correct = correct.span()}, Accumulate::no);
    CHECK(alone.read()[0] == loss.read()[0]);
    CHECK(correct.read()[0] == right);
  }
}

TEST_CASE_TEMPLATE("the_gradient_agrees_with_finite_differences", Where, MEZZO_OPS_EXECUTORS) {
  using Policy = policy_of<double>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  mezzo::Workspace workspace{executor, 0};
  const ClassificationShape shape{.batch = 4, .classes = 5};
  const auto logits = random_values<double>(20, 1);
  const Buffer<std::uint8_t> labels(executor, labels_for(shape));
  const Buffer<double> dlogits(executor, 20), loss(executor, 1);
  mezzo::softmax_cross_entropy<Policy>(workspace, shape, Buffer<double>(executor, logits), labels, 1.f, {.loss = loss.span()}, dlogits);
  check_gradient(logits, dlogits.read(), 8, [&](const std::vector<double>& at) {
    mezzo::cross_entropy<Policy>(workspace, shape, Buffer<double>(executor, at), labels, {.loss = loss.span()});
    return loss.read()[0];
  });
}

TEST_CASE_TEMPLATE("a_power_of_two_scales_the_gradient_exactly_wherever_it_comes_from", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const ClassificationShape shape{.batch = 6, .classes = 10};
  const Buffer<T> logits(executor, random_values<T>(60, 1));
  const Buffer<std::uint8_t> labels(executor, labels_for(shape));
  const Buffer<float> device_scale(executor, std::vector<float>{1024.f});
  const Buffer<Sum> plain(executor, 60), number(executor, 60), view(executor, 60), pointer(executor, 60), loss(executor, 1), scaled_loss(executor, 1);
  mezzo::softmax_cross_entropy<Policy>(workspace, shape, logits, labels, 1.f, {.loss = loss.span()}, plain);
  mezzo::softmax_cross_entropy<Policy>(workspace, shape, logits, labels, 1024.f, {.loss = scaled_loss.span()}, number);
  mezzo::softmax_cross_entropy<Policy>(workspace, shape, logits, labels, View{1024.f}, {}, view);
  mezzo::softmax_cross_entropy<Policy>(workspace, shape, logits, labels, device_scale.data(), {}, pointer);
  auto expected = plain.read();
  for (Sum& value : expected) value *= 1024;
  CHECK(number.read() == expected);
  CHECK(view.read() == expected);
  CHECK(pointer.read() == expected);
  CHECK(scaled_loss.read() == loss.read());  // only the gradient is scaled
}

TEST_CASE_TEMPLATE("parts_of_a_batch_add_up_to_the_whole", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const ClassificationShape whole{.batch = 12, .classes = 10}, part{.batch = 4, .classes = 10, .mean_over = 12};
  const auto labels = labels_for(whole);
  const Buffer<T> logits(executor, random_values<T>(120, 1)), dlogits(executor, 120), parts(executor, 120);
  const Buffer<std::uint8_t> targets(executor, labels);
  const Buffer<Sum> loss(executor, 1), summed(executor, 1);
  const Buffer<std::int32_t> correct(executor, 1), counted(executor, 1);
  mezzo::softmax_cross_entropy<Policy>(workspace, whole, logits, targets, 512.f, {.loss = loss.span(), .correct = correct.span()}, dlogits);
  for (std::size_t i = 0; i < 3; ++i) {
    mezzo::softmax_cross_entropy<Policy>(workspace, part, logits.span().subspan(i * 40, 40), targets.span().subspan(i * 4, 4), 512.f,
                                         {.loss = summed.span(), .correct = counted.span()}, parts.span().subspan(i * 40, 40),
                                         i == 0 ? Accumulate::no : Accumulate::yes);
  }
  CHECK(bits_of(parts.read()) == bits_of(dlogits.read()));
  CHECK(counted.read() == correct.read());
  // Two sums more, each rounded to Sum.
  CHECK(std::abs(exact(summed.read()[0]) - exact(loss.read()[0])) <= 4 * unit_roundoff<Sum>() * exact(loss.read()[0]));
}

TEST_CASE_TEMPLATE("large_logits_do_not_overflow_and_a_nan_shows_in_its_row", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const auto t = [](float value) { return convert<T>(value); };
  const Buffer<T> logits(executor, {t(60000.f), t(-60000.f), t(60000.f), t(60000.f)}), dlogits(executor, 4);
  const Buffer<std::int64_t> labels(executor, {0, 1});
  const Buffer<Sum> loss(executor, 1);
  mezzo::softmax_cross_entropy<Policy>(workspace, {.batch = 2, .classes = 2}, logits, labels, 2.f, {.loss = loss.span()}, dlogits);
  const auto got = dlogits.read();
  CHECK(exact(got[0]) == 0);
  CHECK(exact(got[1]) == 0);
  CHECK(exact(got[2]) == .5L);
  CHECK(exact(got[3]) == -.5L);
  CHECK(loss.read()[0] == doctest::Approx(std::log(2.) / 2));

  const Buffer<T> bad(executor, {t(1), t(2), mezzo::element_limits<T>::quiet_nan(), t(2), mezzo::element_limits<T>::infinity(), t(2)}), gradient(executor, 6);
  mezzo::softmax_cross_entropy<Policy>(workspace, {.batch = 3, .classes = 2}, bad, Buffer<std::int64_t>(executor, {0, 1, 0}), 1.f, {.loss = loss.span()}, gradient);
  CHECK(mezzo::is_finite(gradient.read()[0]));
  CHECK(mezzo::is_finite(gradient.read()[1]));
  CHECK(mezzo::is_nan(gradient.read()[2]));
  CHECK(mezzo::is_nan(gradient.read()[3]));
  CHECK(mezzo::is_nan(gradient.read()[4]));
  CHECK(mezzo::is_nan(loss.read()[0]));
}

template <class T>
T minus_infinity() {
  return convert<T>(-std::numeric_limits<float>::infinity());
}

/// Loss and gradient of one row, with 4 as the scale.
template <class Where, class T>
struct OneRow {
  using Sum = sum_of_t<T>;
  Sum loss{};
  std::vector<T> gradient;

  OneRow(const Where& executor, const std::vector<T>& logits, std::int64_t label) {
    mezzo::Workspace workspace{executor, 0};
    const Buffer<T> in(executor, logits), dlogits(executor, logits.size());
    const Buffer<std::int64_t> labels(executor, std::vector<std::int64_t>{label});
    const Buffer<Sum> result(executor, 1);
    mezzo::softmax_cross_entropy<policy_of<T>>(workspace, {.batch = 1, .classes = static_cast<std::int64_t>(logits.size())}, in, labels, 4.f,
                                               {.loss = result.span()}, dlogits);
    loss = result.read()[0];
    gradient = dlogits.read();
  }

  [[nodiscard]] bool all_nan() const {
    return mezzo::is_nan(loss) && std::all_of(gradient.begin(), gradient.end(), [](T value) { return mezzo::is_nan(value); });
  }
};

TEST_CASE_TEMPLATE("a_masked_class_has_probability_zero_and_the_others_are_those_of_the_row_without_it", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Row1 = OneRow<typename Case::Executor, T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const auto t = [](float value) { return convert<T>(value); };
  const T masked = minus_infinity<T>();
  const Row1 plain(executor, {t(1), t(2)}, 0), last(executor, {t(1), t(2), masked}, 0), middle(executor, {t(1), masked, t(2)}, 0), first(executor, {masked, t(1), t(2)}, 1);
  CHECK(mezzo::to_bits(last.loss) == mezzo::to_bits(plain.loss));
  CHECK(mezzo::to_bits(last.gradient[0]) == mezzo::to_bits(plain.gradient[0]));
  CHECK(mezzo::to_bits(last.gradient[1]) == mezzo::to_bits(plain.gradient[1]));
  CHECK(exact(last.gradient[2]) == 0);
  CHECK(exact(middle.gradient[1]) == 0);
  CHECK(exact(first.gradient[0]) == 0);
  const T two[] = {t(1), t(2)};
  const Row<Sum> row(two, 2, 0);  // a sum of three terms, one of them an exact zero
  const auto close = [&](T got, std::size_t i) {
    const long double difference = row.probabilities[i] - (i == 0 ? 1 : 0);
    const long double error = 4 * (row.errors[i] + 3 * unit_roundoff<Sum>() * (std::abs(difference) + row.errors[i]));
    return std::abs(exact(got) - 4 * difference) <= rounded_bound<T, Sum>(error, 4 * difference);
  };
  for (const Row1* const got : {&plain, &middle, &first}) CHECK(std::abs(exact(got->loss) - row.loss) <= row.loss_error + unit_roundoff<Sum>() * row.loss);
  CHECK(close(middle.gradient[0], 0));
  CHECK(close(middle.gradient[2], 1));
  CHECK(close(first.gradient[1], 0));
  CHECK(close(first.gradient[2], 1));
}

TEST_CASE_TEMPLATE("a_masked_label_makes_the_loss_infinite_and_leaves_the_gradient_finite", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const auto t = [](float value) { return convert<T>(value); };
  const T masked = minus_infinity<T>();
  const OneRow<typename Case::Executor, T> got(executor, {t(1), masked, t(2)}, 1), other(executor, {t(1), masked, t(2)}, 0);
  CHECK(exact(got.loss) == std::numeric_limits<long double>::infinity());
  CHECK(exact(got.gradient[1]) == -4);
  CHECK(exact(got.gradient[0]) == doctest::Approx(4 * .26894142).epsilon(.01));
  CHECK(mezzo::to_bits(got.gradient[2]) == mezzo::to_bits(other.gradient[2]));
}

TEST_CASE_TEMPLATE("a_nan_an_infinity_and_a_row_of_nothing_but_masks_make_loss_and_row_nan", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Row1 = OneRow<typename Case::Executor, T>;
  using Limits = mezzo::element_limits<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const auto t = [](float value) { return convert<T>(value); };
  for (const T planted : {Limits::quiet_nan(), Limits::infinity()}) {
    for (const std::int64_t label : {0, 1, 2}) {
      CHECK(Row1(executor, {planted, t(1), t(2)}, label).all_nan());
      CHECK(Row1(executor, {t(1), planted, minus_infinity<T>()}, label).all_nan());
      CHECK(Row1(executor, {t(1), t(2), planted}, label).all_nan());
    }
  }
  CHECK(Row1(executor, std::vector<T>(3, minus_infinity<T>()), 1).all_nan());
  std::vector<T> wide(70, t(1));  // more classes than a warp has lanes
  wide[40] = Limits::infinity();
  CHECK(Row1(executor, wide, 40).all_nan());
  CHECK(Row1(executor, std::vector<T>(70, minus_infinity<T>()), 69).all_nan());
}

TEST_CASE_TEMPLATE("preparing_changes_no_result_and_checks_the_shape", Where, MEZZO_OPS_EXECUTORS) {
  using Policy = mezzo::Autocast<float>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  const ClassificationShape shape{.batch = 3, .classes = 4};
  mezzo::Workspace prepared{executor, 0}, plain{executor, 0};
  mezzo::softmax_cross_entropy_prepare<float>(prepared, shape);
  mezzo::softmax_cross_entropy_prepare<float>(prepared, shape);
  const Buffer<float> logits(executor, random_values<float>(12, 1)), one(executor, 12), other(executor, 12), loss(executor, 1), again(executor, 1);
  const Buffer<std::int64_t> labels(executor, {0, 3, 1});
  mezzo::softmax_cross_entropy<Policy>(prepared, shape, logits, labels, 1.f, {.loss = loss.span()}, one);
  mezzo::softmax_cross_entropy<Policy>(plain, shape, logits, labels, 1.f, {.loss = again.span()}, other);
  CHECK(bits_of(one.read()) == bits_of(other.read()));
  CHECK(bits_of(loss.read()) == bits_of(again.read()));
  const auto text = message_of<mezzo::InvalidArgument>([&] { mezzo::softmax_cross_entropy_prepare<float>(prepared, {.batch = 3, .classes = 0}); });
  CHECK(text.find("softmax_cross_entropy_test.cpp:") == 0);
  CHECK(text.ends_with("softmax_cross_entropy_prepare: shape.classes must be at least 1, got 0"));
}

TEST_CASE_TEMPLATE("a_gradient_may_replace_its_logits_and_an_empty_batch_has_no_loss", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const ClassificationShape shape{.batch = 6, .classes = 10};
  const Buffer<T> logits(executor, random_values<T>(60, 1)), dlogits(executor, 60), none(executor, 0);
  const Buffer<std::uint8_t> labels(executor, labels_for(shape)), no_labels(executor, 0);
  mezzo::softmax_cross_entropy<Policy>(workspace, shape, logits, labels, 8.f, {}, dlogits);
  mezzo::softmax_cross_entropy<Policy>(workspace, shape, logits, labels, 8.f, {}, logits);
  CHECK(bits_of(logits.read()) == bits_of(dlogits.read()));

  const Buffer<Sum> loss(executor, std::vector<Sum>{3});
  const Buffer<std::int32_t> correct(executor, std::vector<std::int32_t>{3});
  const ClassificationShape empty{.batch = 0, .classes = 10};
  mezzo::softmax_cross_entropy<Policy>(workspace, empty, none, no_labels, 8.f, {.loss = loss.span(), .correct = correct.span()}, none, Accumulate::yes);
  CHECK(loss.read()[0] == 3);
  CHECK(correct.read()[0] == 3);
  mezzo::softmax_cross_entropy<Policy>(workspace, empty, none, no_labels, 8.f, {.loss = loss.span(), .correct = correct.span()}, none);
  CHECK(loss.read()[0] == 0);
  CHECK(correct.read()[0] == 0);
}

TEST_CASE("sizes_and_labels_that_do_not_fit_are_refused_by_name_and_nothing_is_written") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  const ClassificationShape shape{.batch = 2, .classes = 3};
  std::vector<float> logits(6), dlogits(6, 5.f), wrong(5), loss(1, 5.f), two(2);
  std::vector<int> labels{0, 2}, high{0, 3}, low{-1, 0}, few{1};
  const auto refusal = [&](const ClassificationShape& s, auto& x, auto& l, auto& d, auto& r) {
    return message_of<InvalidArgument>([&] { mezzo::softmax_cross_entropy<Policy>(workspace, s, x, l, 1.f, {.loss = r}, d); });
  };
  CHECK(refusal(shape, logits, high, dlogits, loss).find("softmax_cross_entropy_test.cpp:") == 0);
  CHECK(refusal(shape, logits, high, dlogits, loss).ends_with("softmax_cross_entropy: labels[1] must be in [0, 3), got 3"));
  CHECK(refusal(shape, logits, low, dlogits, loss).ends_with("softmax_cross_entropy: labels[0] must be in [0, 3), got -1"));
  CHECK(refusal(shape, wrong, labels, dlogits, loss).ends_with("softmax_cross_entropy: logits must have 6 elements, got 5"));
  CHECK(refusal(shape, logits, few, dlogits, loss).ends_with("softmax_cross_entropy: labels must have 2 elements, got 1"));
  CHECK(refusal(shape, logits, labels, wrong, loss).ends_with("softmax_cross_entropy: dlogits must have 6 elements, got 5"));
  CHECK(refusal(shape, logits, labels, dlogits, two).ends_with("softmax_cross_entropy: loss must have 1 elements, got 2"));
  CHECK(refusal({.batch = 2, .classes = 0}, logits, labels, dlogits, loss).ends_with("softmax_cross_entropy: shape.classes must be at least 1, got 0"));
  CHECK(refusal({.batch = -2, .classes = 3}, logits, labels, dlogits, loss).ends_with("softmax_cross_entropy: shape.batch must be at least 0, got -2"));
  CHECK(refusal({.batch = 2, .classes = 3, .mean_over = 1}, logits, labels, dlogits, loss).ends_with("softmax_cross_entropy: shape.mean_over must be at least 2, got 1"));
  mezzo::Span<float> inside(dlogits.data() + 1, 1), in_logits(logits.data(), 1);
  CHECK(refusal(shape, logits, labels, dlogits, inside).ends_with("softmax_cross_entropy: loss must not overlap dlogits"));
  CHECK(refusal(shape, logits, labels, dlogits, in_logits).ends_with("softmax_cross_entropy: loss must not overlap logits"));
  std::vector<std::int32_t> shared{0, 2, 0, 0, 0, 0};
  const mezzo::Span<const std::int32_t> first(shared.data(), 2);
  mezzo::Span<float> over(reinterpret_cast<float*>(shared.data()), 6);
  CHECK(refusal(shape, logits, first, over, loss).ends_with("softmax_cross_entropy: dlogits must not overlap labels"));
  CHECK(message_of<InvalidArgument>([&] {
          mezzo::softmax_cross_entropy<Policy>(workspace, shape, logits, labels, static_cast<const float*>(nullptr), {.loss = loss}, dlogits);
        }).ends_with("softmax_cross_entropy: multiplier must not be null"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::cross_entropy<Policy>(workspace, shape, logits, labels, {.loss = in_logits}); })
            .ends_with("cross_entropy: loss must not overlap logits"));
  CHECK(dlogits == std::vector<float>(6, 5.f));
  CHECK(loss[0] == 5.f);
  CHECK(refusal(shape, logits, labels, dlogits, loss) == "");
  CHECK(message_of<InvalidArgument>([&] { mezzo::cross_entropy<Policy>(workspace, shape, logits, high, {}); }).ends_with("cross_entropy: labels[1] must be in [0, 3), got 3"));
}

}  // namespace softmax_cross_entropy_test
