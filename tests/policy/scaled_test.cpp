#include <doctest/doctest.h>

#include <vector>

#include "types.hpp"

using namespace mezzo;
using namespace mezzo::test;

TEST_CASE("a value is copied with its scale, a named container is referred to, a temporary is kept") {
  const float16 x{};
  static_assert(same<decltype(with_scale(x, 2.f)), Scaled<float16>>);
  std::vector<float> data(3);
  static_assert(same<decltype(with_scale(data, 2.f)), Scaled<std::vector<float>&>>);
  CHECK(&with_scale(data, 2.f).value == &data);
  static_assert(same<decltype(with_scale(std::vector<float>(1), 2.f)), Scaled<std::vector<float>>>);
  CHECK(with_scale(data, 2.f).scale == 2.f);
}
TEST_CASE("the scale is applied whatever the policy's low type is, so that the op's division stays right") {
  const auto scaled = [](auto x) { return convert<float>(x); };
  CHECK(convert<float>(autocast<Autocast<float16>, op::matmul>(scaled, with_scale(3.f, 4.f))) == 12.f);
  CHECK(autocast<Autocast<float8_e4m3>::disabled, op::matmul>(scaled, with_scale(3.f, 4.f)) == 12.f);
  CHECK(autocast<Autocast<float>, op::matmul>(scaled, with_scale(convert<float16>(3.f), 4.f)) == 12.f);
}
TEST_CASE("the product is rounded once, from float") {
  // 17 * 2^-4 = 1.0625 is a tie between 1 and 1.125 in E4M3; a product rounded in float16 first would be the same, so take more bits:
  // 1.0625 + 2^-12 lies above the tie, and float16 (10 fraction bits) would have rounded the excess away.
  const float x = 17.f + 0x1p-8f;
  const float y = autocast<Autocast<float8_e4m3>, op::matmul>([](auto a) { return convert<float>(a); }, with_scale(x, 0x1p-4f));
  CHECK(y == 1.125f);
}
