#include <mezzo/ops/add.hpp>

#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::convert;

/// The sum of two 16-bit numbers is exact in double, so that this rounds once; float and double round in their own type.
template <class T>
T sum(T a, T b) {
  if constexpr (sizeof(T) == 2) {
    return convert<T>(convert<double>(a) + convert<double>(b));
  } else {
    return a + b;
  }
}

TEST_CASE_TEMPLATE("adds_and_rounds_once", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{33}, std::size_t{255}, std::size_t{256}, std::size_t{257}, std::size_t{32769}}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
      const auto a = random_values<T>(size, 1), b = random_values<T>(size, 2, 8);  // of different binades: most sums are rounded
      std::vector<T> expected(size);
      for (std::size_t i = 0; i < size; ++i) expected[i] = sum(a[i], b[i]);
      const Buffer<T> left(executor, a, offset), right(executor, b), y(executor, std::vector<T>(size), offset);
      mezzo::add<Policy>(workspace, left, right, y);
      CHECK(bits_of(y.read()) == bits_of(expected));
      mezzo::add<Policy>(workspace, left, right, left);  // gradient accumulation
      CHECK(bits_of(left.read()) == bits_of(expected));
    }
  }
}

TEST_CASE_TEMPLATE("infinity_stays_and_infinities_of_both_signs_give_nan", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  using Limits = mezzo::element_limits<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 0};
  const T infinity = Limits::infinity(), one = convert<T>(1.f), minus = mezzo::from_bits<T>(static_cast<decltype(mezzo::to_bits(one))>(mezzo::to_bits(infinity) | mezzo::element_traits<T>::sign_mask));
  const Buffer<T> a(executor, {infinity, infinity, Limits::largest(), Limits::quiet_nan()}), b(executor, {one, minus, Limits::largest(), one}), y(executor, 4);
  mezzo::add<Policy>(workspace, a, b, y);
  const auto got = y.read();
  CHECK(mezzo::to_bits(got[0]) == mezzo::to_bits(infinity));
  CHECK(mezzo::is_nan(got[1]));
  CHECK(mezzo::to_bits(got[2]) == mezzo::to_bits(infinity));
  CHECK(mezzo::is_nan(got[3]));
}

TEST_CASE_TEMPLATE("mixed_types_give_the_wider", Where, MEZZO_OPS_EXECUTORS) {
  using Policy = mezzo::Autocast<mezzo::float16>;
  MEZZO_TEST_EXECUTOR(Where, executor);
  mezzo::Workspace workspace{executor, 0};
  const auto a = random_values<mezzo::float16>(300, 1);
  const auto b = random_values<float>(300, 2);
  const auto c = random_values<mezzo::bfloat16>(300, 3);
  std::vector<float> ab(300), ac(300);
  for (std::size_t i = 0; i < 300; ++i) ab[i] = convert<float>(a[i]) + b[i], ac[i] = convert<float>(a[i]) + convert<float>(c[i]);
  const Buffer<mezzo::float16> half(executor, a);
  const Buffer<float> y(executor, 300);
  mezzo::add<Policy>(workspace, half, Buffer<float>(executor, b), y);
  CHECK(y.read() == ab);
  mezzo::add<Policy>(workspace, half, Buffer<mezzo::bfloat16>(executor, c), y);
  CHECK(y.read() == ac);
}

TEST_CASE("sizes_that_differ_and_shifted_overlap_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  std::vector<float> a(6), b(5), c(6);
  CHECK(message_of<InvalidArgument>([&] { mezzo::add<Policy>(workspace, a, b, a); }).find("add_test.cpp:") == 0);
  CHECK(message_of<InvalidArgument>([&] { mezzo::add<Policy>(workspace, a, b, a); }).ends_with("add: b must have 6 elements, got 5"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::add<Policy>(workspace, a, c, b); }).ends_with("add: y must have 6 elements, got 5"));
  const mezzo::Span<float> front(a.data(), 5), back(a.data() + 1, 5);
  CHECK(message_of<InvalidArgument>([&] { mezzo::add<Policy>(workspace, front, b, back); }).ends_with("add: y must not overlap a"));
  CHECK(message_of<InvalidArgument>([&] { mezzo::add<Policy>(workspace, b, front, back); }).ends_with("add: y must not overlap b"));
}

}  // namespace
