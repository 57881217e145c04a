#include <mezzo/ops/relu.hpp>

#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::convert;

/// Every float16 or bfloat16; a sample of float and double with all special values.
template <class T>
std::vector<T> all_values() {
  std::vector<T> values;
  if constexpr (sizeof(T) == 2) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) values.push_back(mezzo::from_bits<T>(static_cast<std::uint16_t>(bits)));
  } else {
    using Limits = mezzo::element_limits<T>;
    values = random_values<T>(4001, 7);
    for (const T value : {T{0}, -T{0}, Limits::infinity(), -Limits::infinity(), Limits::quiet_nan(), -Limits::quiet_nan(), Limits::smallest_subnormal(),
                          -Limits::smallest_subnormal(), Limits::largest(), Limits::lowest()}) {
      values.push_back(value);
    }
  }
  return values;
}

/// What comes out for a value, written without the library: positive and NaN stay, all else is +0.
template <class T>
bool stays(T value) {
  const double wide = convert<double>(value);
  return wide > 0 || wide != wide;
}

TEST_CASE_TEMPLATE("keeps_positive_values_and_nans_and_makes_all_else_plus_zero", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const auto x = all_values<T>();
  auto expected = bits_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = stays(x[i]) ? expected[i] : 0;
  const Buffer<T> in(executor, x), y(executor, x.size());
  mezzo::relu<Policy>(workspace, in, y);
  CHECK(bits_of(y.read()) == expected);
  mezzo::relu<Policy>(workspace, in, in);  // in place
  CHECK(bits_of(in.read()) == expected);
}

TEST_CASE_TEMPLATE("passes_gradients_where_the_output_is_positive_or_nan", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const auto x = all_values<T>();
  const auto dy = random_values<T>(x.size(), 3);
  auto expected = bits_of(dy);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = stays(x[i]) ? expected[i] : 0;
  const Buffer<T> in(executor, x), y(executor, x.size()), gradient(executor, dy), dx(executor, x.size());
  mezzo::relu<Policy>(workspace, in, y);
  mezzo::relu_backward<Policy>(workspace, y, gradient, dx);
  CHECK(bits_of(dx.read()) == expected);
  mezzo::relu_backward<Policy>(workspace, in, gradient, dx);  // the input tells the same
  CHECK(bits_of(dx.read()) == expected);
  mezzo::relu_backward<Policy>(workspace, y, gradient, gradient);  // over the gradient
  CHECK(bits_of(gradient.read()) == expected);
  mezzo::relu_backward<Policy>(workspace, y, Buffer<T>(executor, dy), y);  // over the output
  CHECK(bits_of(y.read()) == expected);
}

TEST_CASE_TEMPLATE("lets_a_float_gradient_pass_a_half_output", Where, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(Where, executor);
  mezzo::Workspace workspace{executor, 0};
  const auto y = all_values<mezzo::float16>();
  const auto dy = random_values<float>(y.size(), 3);
  auto expected = dy;
  for (std::size_t i = 0; i < y.size(); ++i) expected[i] = stays(y[i]) ? dy[i] : 0;
  const Buffer<float> dx(executor, y.size());
  mezzo::relu_backward<mezzo::Autocast<mezzo::float16>>(workspace, Buffer<mezzo::float16>(executor, y), Buffer<float>(executor, dy), dx);
  CHECK(dx.read() == expected);
}

TEST_CASE_TEMPLATE("works_on_any_size_and_start", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{33}, std::size_t{32768}, std::size_t{32769}}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
      const auto x = random_values<T>(size, 1);
      auto expected = bits_of(x);
      for (std::size_t i = 0; i < size; ++i) expected[i] = stays(x[i]) ? expected[i] : 0;
      const Buffer<T> in(executor, x, offset), y(executor, std::vector<T>(size), offset);
      mezzo::relu<Policy>(workspace, in, y);
      CHECK(bits_of(y.read()) == expected);
    }
  }
}

TEST_CASE("sizes_that_differ_and_shifted_overlap_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  std::vector<float> x(6), y(5);
  CHECK(message_of<InvalidArgument>([&] { mezzo::relu<Policy>(workspace, x, y); }).find("relu_test.cpp:") == 0);
  CHECK(message_of<InvalidArgument>([&] { mezzo::relu<Policy>(workspace, x, y); }).ends_with("relu: y must have 6 elements, got 5"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::relu_backward<Policy>(workspace, x, y, x); }).ends_with("relu_backward: dy must have 6 elements, got 5"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::relu_backward<Policy>(workspace, x, x, y); }).ends_with("relu_backward: dx must have 6 elements, got 5"));
  const mezzo::Span<float> front(x.data(), 5), back(x.data() + 1, 5);
  CHECK(message_of<InvalidArgument>([&] { mezzo::relu<Policy>(workspace, front, back); }).ends_with("relu: y must not overlap x"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::relu_backward<Policy>(workspace, y, front, back); }).ends_with("relu_backward: dx must not overlap dy"));
}

}  // namespace
