#include <mezzo/numeric/promote.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include <doctest/doctest.h>

namespace {

using mezzo::bfloat16;
using mezzo::float16;
using mezzo::promote_t;
using E4 = mezzo::float8_e4m3;
using E5 = mezzo::float8_e5m2;

template <class A, class B, class Expected>
constexpr bool joins = std::is_same_v<promote_t<A, B>, Expected> && std::is_same_v<promote_t<B, A>, Expected>;

// The whole table of element types, its upper triangle.
static_assert(joins<float16, float16, float16> && joins<bfloat16, bfloat16, bfloat16> && joins<E4, E4, E4> && joins<E5, E5, E5> &&
              joins<float, float, float> && joins<double, double, double>);
static_assert(joins<float16, bfloat16, float>, "neither holds the other");
static_assert(joins<float16, E4, float16> && joins<float16, E5, float16> && joins<bfloat16, E4, bfloat16> && joins<bfloat16, E5, bfloat16>);
static_assert(joins<E4, E5, float>, "neither holds the other");
static_assert(joins<float16, float, float> && joins<bfloat16, float, float> && joins<E4, float, float> && joins<E5, float, float>);
static_assert(joins<float16, double, double> && joins<bfloat16, double, double> && joins<E4, double, double> && joins<E5, double, double> &&
              joins<float, double, double>);
// Integers and bool never widen a floating type, and join among themselves as C++ has it.
static_assert(joins<float16, int, float16> && joins<bfloat16, std::uint64_t, bfloat16> && joins<E4, bool, E4> && joins<float, long, float>);
static_assert(joins<int, std::int64_t, std::int64_t> && joins<bool, bool, bool>);
// Any number of types.
static_assert(std::is_same_v<promote_t<float16>, float16> && std::is_same_v<promote_t<float16, int, bool>, float16>);
static_assert(std::is_same_v<promote_t<E4, float16, bfloat16>, float> && std::is_same_v<promote_t<float16, double, bfloat16>, double>);

using Types = std::tuple<float16, bfloat16, E4, E5, float, double>;

/// Whether every value of `From` is a value of `To`.
template <class From, class To>
constexpr bool holds = mezzo::element_traits<From>::fraction_bits <= mezzo::element_traits<To>::fraction_bits &&
                       mezzo::element_traits<From>::exponent_bits <= mezzo::element_traits<To>::exponent_bits;

template <class A, class B>
void check_pair() {
  using Join = promote_t<A, B>;
  CAPTURE(mezzo::element_traits<A>::name);
  CAPTURE(mezzo::element_traits<B>::name);
  CHECK(std::is_same_v<Join, promote_t<B, A>>);
  CHECK(holds<A, Join>);
  CHECK(holds<B, Join>);
}

template <class A, class... B>
void check_row(std::tuple<B...>) {
  (check_pair<A, B>(), ...);
}

TEST_CASE("a_join_is_symmetric_and_holds_every_value_of_both") {
  std::apply([](auto... a) { (check_row<decltype(a)>(Types{}), ...); }, Types{});
}

}  // namespace
