// autocast(f, args...): what the function receives and what comes back.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "types.hpp"

using namespace mezzo;
using namespace mezzo::test;

namespace {

using Policy = Autocast<float16>;
using Off = Policy::disabled;

float16 h(float value) { return convert<float16>(value); }
float widened(float16 value) { return convert<float>(value); }

}  // namespace

TEST_CASE("values are converted to the argument type before the call, rounded once") {
  const float16 y = autocast<Policy, lower>([](auto x) { static_assert(same<decltype(x), float16>); return x; }, 2.f + 0x1p-11f);
  CHECK(widened(y) == 2.f);  // a quarter of the distance to the next float16
  CHECK(widened(autocast<Policy, lower>([](auto x) { return x; }, 1.f + 0x1p-11f + 0x1p-20f)) == 1.f + 0x1p-10f);
}
TEST_CASE("the result is converted to the result type") {
  const auto y = autocast<Policy, lower>([](auto a, auto b) { return widened(a) * widened(b); }, 3.f, h(5.f));
  static_assert(same<decltype(y), const float16>);
  CHECK(widened(y) == 15.f);
  const auto sum = autocast<Policy, output>([](auto x) { static_assert(same<decltype(x), float16>); return x; }, h(7.f));
  static_assert(same<decltype(sum), const float>);
  CHECK(sum == 7.f);
}
TEST_CASE("a result computed in double by accident of a literal comes back as the result type") {
  const auto y = autocast<Policy, full>([](auto x) { return x * 2.5; }, h(2.f));
  static_assert(same<decltype(y), const float>);
  CHECK(y == 5.f);
}
TEST_CASE("pass_through and disabled regions convert neither arguments nor the result") {
  static_assert(same<decltype(autocast<Policy, pass>([](auto x) { static_assert(same<decltype(x), float16>); return 1.f; }, h(1.f))), float>);
  static_assert(same<decltype(autocast<Off, lower>([](auto x) { static_assert(same<decltype(x), float>); return x; }, 1.f)), float>);
  static_assert(same<decltype(autocast<Off, full>([](auto x) { static_assert(same<decltype(x), float16>); return x; }, h(1.f))), float16>);
}
TEST_CASE("with a double or without a floating argument nothing is converted") {
  const auto y = autocast<Policy, lower>([](auto a, auto b) { static_assert(same<decltype(a), float>); return a * b; }, 1.5f, 2.0);
  static_assert(same<decltype(y), const double>);
  CHECK(y == 3.0);
  const auto fraction = autocast<Policy, full>([](auto n) { static_assert(same<decltype(n), int>); return .5f * static_cast<float>(n); }, 3);
  static_assert(same<decltype(fraction), const float>);  // an op of integers that returns a float keeps it
  CHECK(fraction == 1.5f);
}
TEST_CASE("integers, bools and what holds no numbers are handed over as they are") {
  const std::string text = "x";
  autocast<Policy, lower>(
    [&](auto x, auto n, bool flag, const std::string& s) {
      static_assert(same<decltype(x), float16> && same<decltype(n), std::int64_t>);
      CHECK(n == 5);
      CHECK(flag);
      CHECK(&s == &text);  // not copied
    },
    1.f, std::int64_t{5}, true, text);
}
TEST_CASE("an argument that needs no cast is the caller's own object") {
  float16 x = h(1.f);
  autocast<Policy, lower>([](float16& mine) { mine = h(2.f); }, x);
  CHECK(widened(x) == 2.f);
  auto owner = std::make_unique<int>(3);
  const int got = autocast<Policy, lower>([](float16, std::unique_ptr<int> p) { return *p; }, 1.f, std::move(owner));
  CHECK(got == 3);
}
TEST_CASE("an element is returned by value, whatever the function returns a reference to") {
  static_assert(same<decltype(autocast<Policy, lower>([](const auto& x) -> const auto& { return x; }, 1.f)), float16>);
  static_assert(same<decltype(autocast<Policy, pass>([](const auto& x) -> const auto& { return x; }, 1.f)), float>);
}
TEST_CASE("a function that returns nothing, or no element, is fine") {
  static_assert(std::is_void_v<decltype(autocast<Policy, lower>([](auto) {}, 1.f))>);
  std::vector<int> storage(3);
  std::vector<int>& back = autocast<Policy, lower>([&](auto) -> std::vector<int>& { return storage; }, 1.f);
  CHECK(&back == &storage);
}
TEST_CASE("a comparison's bool comes back as it is") {
  static_assert(same<decltype(autocast<Policy, op::lt>([](auto a, auto b) { static_assert(same<decltype(a), float>); return a < b; }, h(1.f), 2.f)), bool>);
  CHECK(autocast<Policy, op::lt>([](auto a, auto b) { return a < b; }, h(1.f), 2.f));
}

TEST_CASE("values inside tuples, pairs, arrays and optionals are converted in place") {
  const auto seen = autocast<Policy, full>(
    [](auto tuple, auto pair, auto array, auto given, auto missing) {
      static_assert(same<decltype(tuple), std::tuple<float, int>> && same<decltype(pair), std::pair<float, bool>>);
      static_assert(same<decltype(array), std::array<float, 2>> && same<decltype(given), std::optional<float>>);
      CHECK(std::get<0>(tuple) == 1.f);
      CHECK(std::get<1>(tuple) == 7);
      CHECK(pair.first == 2.f);
      CHECK(array[1] == 4.f);
      CHECK(given == 5.f);
      CHECK(!missing.has_value());
      return array[0] + *given;
    },
    std::tuple(h(1.f), 7), std::pair(h(2.f), true), std::array{h(3.f), h(4.f)}, std::optional(h(5.f)), std::optional<float16>());
  CHECK(seen == 8.f);
}
TEST_CASE("containers nest") {
  autocast<Policy, lower>(
    [](auto x) {
      static_assert(same<decltype(x), std::tuple<std::pair<float16, int>, std::optional<std::array<float16, 1>>>>);
      CHECK(widened(std::get<0>(x).first) == 1.f);
      CHECK(widened((*std::get<1>(x))[0]) == 2.f);
    },
    std::tuple(std::pair(1.f, 1), std::optional(std::array{2.f})));
}
TEST_CASE("a container that needs no cast is handed over, not copied") {
  const std::array<float16, 2> values{h(1.f), h(2.f)};
  autocast<Policy, lower>([&](const std::array<float16, 2>& mine) { CHECK(&mine == &values); }, values);
}

TEST_CASE("data that the op reads as it is stored is handed over") {
  std::vector<float16> values(2, h(3.f));
  const float y = autocast<Policy, lower>([](const std::vector<float16>& v, float16* p) { return widened(v[1]) + widened(p[0]); }, values, values.data());
  CHECK(y == 6.f);
  const float sum = autocast<Policy, output>([](std::span<const float> s) { return s[0]; }, std::span<const float>(std::array{4.f}));
  CHECK(sum == 4.f);
  const std::vector<std::span<float16>> list{values, values};
  CHECK(autocast<Policy, promote>([](const std::vector<std::span<float16>>& spans) { return spans.size(); }, list) == 2);
}

TEST_CASE("a call is a constant expression where the function is") {
  static_assert(autocast<Policy, full>([](float x) { return x + 1.f; }, bfloat16{}) == 1.f);
}

TEST_CASE("an 8-bit GEMM takes values with their scale, and saturates") {
  using Fp8 = Autocast<float8_e4m3>;
  const float y = autocast<Fp8, op::matmul>(
    [](auto a, auto b) {
      static_assert(same<decltype(a), float8_e4m3> && same<decltype(b), float8_e4m3>);
      CHECK(convert<float>(a) == 3.f * 16.f);
      CHECK(convert<float>(b) == 448.f);  // 300 * 2 is beyond the largest value
      return convert<float>(a) / 16.f;
    },
    with_scale(3.f, 16.f), with_scale(h(300.f), 2.f));
  CHECK(y == 3.f);
}
TEST_CASE("values that are in 8 bits already need no scale") {
  using Fp8 = Autocast<float8_e4m3>;
  const auto one = convert<float8_e4m3>(1.f);
  CHECK(autocast<Fp8, op::matmul>([](auto a, auto b) { return convert<float>(a) + convert<float>(b); }, one, one) == 2.f);
}
