#include <mezzo/ops/gemm.hpp>

#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;
using mezzo::convert;
using mezzo::GemmShape;
using mezzo::Transpose;

std::size_t count(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }

std::size_t a_index(const GemmShape& s, std::int64_t i, std::int64_t k) {
  return static_cast<std::size_t>(s.transpose_a == Transpose::yes ? k * s.m + i : i * s.k + k);
}
std::size_t b_index(const GemmShape& s, std::int64_t k, std::int64_t j) {
  return static_cast<std::size_t>(s.transpose_b == Transpose::yes ? j * s.k + k : k * s.n + j);
}

template <class T>
std::vector<Sums> product(const GemmShape& s, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<Sums> c(count(s.m, s.n));
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t k = 0; k < s.k; ++k) c[static_cast<std::size_t>(i * s.n + j)].add(exact(a[a_index(s, i, k)]) * exact(b[b_index(s, k, j)]));
  return c;
}

constexpr GemmShape sizes[] = {{.m = 1, .n = 1, .k = 1},    {.m = 7, .n = 5, .k = 32},  {.m = 33, .n = 17, .k = 144},
                               {.m = 64, .n = 10, .k = 64}, {.m = 3, .n = 31, .k = 511}, {.m = 1, .n = 40, .k = 512},
                               {.m = 259, .n = 3, .k = 65}, {.m = 4, .n = 515, .k = 33}, {.m = 2, .n = 3, .k = 1030}};  // beyond a block each

TEST_CASE_TEMPLATE("each_element_is_the_sum_of_its_products_rounded_once", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  for (GemmShape shape : sizes) {
    for (const Transpose transpose_a : {Transpose::no, Transpose::yes}) {
      for (const Transpose transpose_b : {Transpose::no, Transpose::yes}) {
        shape.transpose_a = transpose_a;
        shape.transpose_b = transpose_b;
        CAPTURE(shape.m);
        CAPTURE(shape.n);
        CAPTURE(shape.k);
        auto workspace = poisoned_workspace(executor, mezzo::matmul_workspace_bytes<T>(executor, shape));
        const auto a = random_values<T>(count(shape.m, shape.k), 1), b = random_values<T>(count(shape.k, shape.n), 2);
        auto expected = product(shape, a, b);
        const Buffer<T> left(executor, a), right(executor, b), c(executor, std::vector<T>(expected.size(), mezzo::element_limits<T>::quiet_nan()));
        mezzo::matmul<Policy>(workspace, shape, left, right, c);
        check_sums(c.read(), expected);

        const Buffer<sum_of_t<T>> sum(executor, std::vector<sum_of_t<T>>(expected.size(), 2));
        mezzo::matmul<Policy>(workspace, shape, left, right, sum);  // float: the sum as it is
        check_sums(sum.read(), expected);

        const auto before = random_values<T>(expected.size(), 3);
        const Buffer<T> added(executor, before);
        mezzo::matmul<Policy>(workspace, shape, left, right, added, Accumulate::yes);
        for (std::size_t i = 0; i < before.size(); ++i) expected[i].add(exact(before[i]));
        check_sums(added.read(), expected);
      }
    }
  }
}

TEST_CASE_TEMPLATE("an_empty_side_gives_nothing_and_an_empty_sum_zero", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 1 << 16};
  const Buffer<T> none(executor, 0), some(executor, random_values<T>(12, 1)), c(executor, random_values<T>(12, 2));
  mezzo::matmul<Policy>(workspace, {.m = 0, .n = 3, .k = 4}, none, some, none);
  mezzo::matmul<Policy>(workspace, {.m = 3, .n = 0, .k = 4}, some, none, none);
  mezzo::matmul<Policy>(workspace, {.m = 3, .n = 4, .k = 0}, none, none, c, Accumulate::yes);
  CHECK(bits_of(c.read()) == bits_of(random_values<T>(12, 2)));
  mezzo::matmul<Policy>(workspace, {.m = 3, .n = 4, .k = 0}, none, none, c);
  CHECK(bits_of(c.read()) == bits_of(std::vector<T>(12, convert<T>(0.f))));
}

TEST_CASE_TEMPLATE("infinities_and_nans_reach_their_row_alone", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Policy = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  const GemmShape shape{.m = 5, .n = 6, .k = 40};
  auto workspace = poisoned_workspace(executor, mezzo::matmul_workspace_bytes<T>(executor, shape));
  for (const T planted : {mezzo::element_limits<T>::infinity(), mezzo::element_limits<T>::quiet_nan()}) {
    auto a = random_values<T>(200, 1);
    a[2 * 40 + 7] = planted;
    const Buffer<T> left(executor, a), right(executor, random_values<T>(240, 2)), c(executor, 30);
    mezzo::matmul<Policy>(workspace, shape, left, right, c);
    const auto got = c.read();
    for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(mezzo::is_finite(got[i]) == (i / 6 != 2));
  }
}

TEST_CASE("operands_of_different_types_find_the_scratch_that_the_comment_promises") {
  using Off = mezzo::Autocast<mezzo::float16>::disabled;
  const mezzo::HostExecutor executor;
  for (const GemmShape& shape : {GemmShape{.m = 5, .n = 6, .k = 40}, GemmShape{.m = 300, .n = 520, .k = 3}, GemmShape{.m = 3, .n = 5, .k = 600, .transpose_b = mezzo::Transpose::yes}}) {
    const std::size_t bytes = mezzo::matmul_workspace_bytes<mezzo::float16>(executor, shape);
    const auto works = [&]<class A, class B>(A, B, std::size_t scratch) {
      auto workspace = poisoned_workspace(executor, scratch);
      const auto a = random_values<A>(static_cast<std::size_t>(shape.m * shape.k), 1);
      const auto b = random_values<B>(static_cast<std::size_t>(shape.k * shape.n), 2);
      std::vector<mezzo::result_type_t<Off, mezzo::op::matmul, A, B>> c(static_cast<std::size_t>(shape.m * shape.n));
      return message_of<mezzo::Error>([&] { mezzo::matmul<Off>(workspace, shape, a, b, c); });
    };
    CHECK(works(mezzo::float16{}, float{}, bytes) == "");
    CHECK(works(float{}, mezzo::float16{}, bytes) == "");
    CHECK(works(mezzo::float16{}, mezzo::bfloat16{}, bytes) == "");
    CHECK(works(mezzo::bfloat16{}, mezzo::float16{}, bytes) == "");
    CHECK(works(double{}, mezzo::float16{}, 2 * bytes) == "");
    CHECK(works(mezzo::bfloat16{}, double{}, 2 * bytes) == "");
    CHECK(works(float{}, double{}, 2 * bytes) == "");
  }
}

TEST_CASE("sizes_that_do_not_fit_are_refused_by_name") {
  using Policy = mezzo::Autocast<float>;
  using mezzo::InvalidArgument;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  std::vector<float> a(6), b(12), c(8), wrong(5);
  const GemmShape shape{.m = 2, .n = 4, .k = 3};
  const auto refusal = [&](const GemmShape& s, auto& x, auto& y, auto& z) { return message_of<InvalidArgument>([&] { mezzo::matmul<Policy>(workspace, s, x, y, z); }); };
  CHECK(refusal(shape, a, b, c) == "");  // float needs no scratch
  CHECK(refusal(shape, wrong, b, c).find("gemm_test.cpp:") == 0);
  CHECK(refusal(shape, wrong, b, c).ends_with("matmul: a must have 6 elements, got 5"));
  CHECK(refusal(shape, a, wrong, c).ends_with("matmul: b must have 12 elements, got 5"));
  CHECK(refusal(shape, a, b, wrong).ends_with("matmul: c must have 8 elements, got 5"));
  CHECK(refusal({.m = -2, .n = 4, .k = 3}, a, b, c).ends_with("matmul: shape.m must be at least 0, got -2"));
  CHECK(refusal({.m = 2, .n = -4, .k = 3}, a, b, c).ends_with("matmul: shape.n must be at least 0, got -4"));
  CHECK(refusal({.m = 2, .n = 4, .k = -3}, a, b, c).ends_with("matmul: shape.k must be at least 0, got -3"));
  CHECK(refusal({.m = std::int64_t{1} << 40, .n = 4, .k = std::int64_t{1} << 40}, a, b, c).ends_with("matmul: the shape gives a more elements than 64 bits can address"));
  CHECK(refusal({.m = 3, .n = 4, .k = 2}, a, a, a).ends_with("matmul: b must have 8 elements, got 6"));
  std::vector<float> square(4);
  CHECK(refusal({.m = 2, .n = 2, .k = 2}, square, square, square).ends_with("matmul: c must not overlap a"));

  std::vector<mezzo::float16> half(4), out(4);
  const auto text = message_of<InvalidArgument>([&] { mezzo::matmul<mezzo::Autocast<mezzo::float16>>(workspace, {.m = 2, .n = 2, .k = 2}, half, half, out); });
  CHECK(text.find("matmul: the workspace is too small: this shape needs ") != std::string::npos);
}

}  // namespace
