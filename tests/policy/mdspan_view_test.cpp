#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "types.hpp"

#include <mezzo/policy/mdspan_view.hpp>

using namespace mezzo;
using namespace mezzo::test;

namespace {

using Policy = Autocast<float16>;
template <class T, class Layout = ::cuda::std::layout_right>
using Matrix = ::cuda::std::mdspan<T, ::cuda::std::dextents<int, 2>, Layout>;

std::vector<float16> counting(int n) {
  std::vector<float16> data;
  for (int k = 0; k < n; ++k) data.push_back(convert<float16>(static_cast<float>(k)));
  return data;
}

}  // namespace

TEST_CASE("an argument mdspan converts as it loads and keeps extents and layout") {
  const std::vector<float16> data = counting(6);
  const auto rows = argument_view<Policy, op::layer_norm>(Matrix<const float16>(data.data(), 2, 3));
  static_assert(same<decltype(rows(0, 0)), float>);
  CHECK(rows.extent(0) == 2);
  CHECK(rows.extent(1) == 3);
  CHECK(rows(1, 2) == 5.f);
  const auto columns = argument_view<Policy, op::layer_norm>(Matrix<const float16, ::cuda::std::layout_left>(data.data(), 2, 3));
  CHECK(columns(1, 2) == 5.f);
  CHECK(columns(1, 0) == 1.f);
}
TEST_CASE("the view over mutable data is read-only for an argument and writes for a result") {
  std::vector<float16> data = counting(4);
  const Matrix<float16> matrix(data.data(), 2, 2);
  static_assert(same<decltype(argument_view<Policy, op::exp>(matrix)(0, 0)), float>);
  static_assert(same<decltype(argument_view<Policy, op::matmul>(matrix)(0, 0)), const float16&>);
  const auto out = result_view<Policy, op::exp, float16>(matrix);
  out(1, 0) = 2.5f;
  CHECK(convert<float>(data[2]) == 2.5f);
  CHECK(static_cast<float>(out(1, 0)) == 2.5f);
}
TEST_CASE("any type may be asked for") {
  std::vector<float16> data = counting(4);
  const auto view = convert_view<double>(Matrix<float16>(data.data(), 2, 2));
  view(0, 1) = 7.;
  CHECK(convert<float>(data[1]) == 7.f);
}
TEST_CASE("an mdspan counts as data in the types of a call") {
  static_assert(same<compute_type_t<Policy, promote, Matrix<float16>, float>, float>);
  static_assert(same<argument_type_t<Policy, lower, Matrix<const float>>, float16>);
  const std::vector<float16> data = counting(4);
  const float y = autocast<Policy, full>([](auto m) { return m(1, 1); }, argument_view<Policy, full>(Matrix<const float16>(data.data(), 2, 2)));
  CHECK(y == 3.f);
}
