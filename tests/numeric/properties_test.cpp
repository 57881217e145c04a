#include <mezzo/numeric/convert.hpp>

#include <cmath>
#include <cstdint>

#include <rapidcheck.h>

#include "support/property.hpp"

namespace {

using mezzo::bfloat16;
using mezzo::convert;
using mezzo::float16;
using mezzo::from_bits;
using mezzo::is_finite;
using mezzo::is_nan;
using mezzo::Overflow;
using mezzo::test::holds_for_all;
using mezzo::to_bits;
using E4 = mezzo::float8_e4m3;
using E5 = mezzo::float8_e5m2;

/// Any float but NaN, every exponent as likely as another.
float any_float() {
  const float value = from_bits<float>(*rc::gen::resize(100, rc::gen::arbitrary<std::uint32_t>()));
  return is_nan(value) ? 1.f : value;
}

template <class T>
float through(float x) { return convert<float>(convert<T>(x)); }

TEST_CASE("conversion_keeps_order") {
  holds_for_all([] {
    const float a = any_float(), b = any_float();
    const float low = std::fmin(a, b), high = std::fmax(a, b);
    RC_ASSERT(through<float16>(low) <= through<float16>(high));
    RC_ASSERT(through<bfloat16>(low) <= through<bfloat16>(high));
    RC_ASSERT(through<E5>(low) <= through<E5>(high));
    RC_ASSERT((convert<float>(convert<E4, Overflow::saturate>(low)) <= convert<float>(convert<E4, Overflow::saturate>(high))));
  });
}

TEST_CASE("conversion_of_the_negative_is_the_negative_of_the_conversion") {
  holds_for_all([] {
    const float a = any_float();
    RC_ASSERT(to_bits(convert<float16>(-a)) == (to_bits(convert<float16>(a)) ^ 0x8000));
    RC_ASSERT(to_bits(convert<bfloat16>(-a)) == (to_bits(convert<bfloat16>(a)) ^ 0x8000));
    RC_ASSERT(to_bits(convert<E4>(-a)) == (to_bits(convert<E4>(a)) ^ 0x80));
    RC_ASSERT(to_bits(convert<E5>(-a)) == (to_bits(convert<E5>(a)) ^ 0x80));
  });
}

TEST_CASE("saturating_and_not_agree_wherever_the_result_is_finite") {
  holds_for_all([] {
    const float a = any_float();
    if (is_finite(convert<float16>(a))) RC_ASSERT((to_bits(convert<float16>(a)) == to_bits(convert<float16, Overflow::saturate>(a))));
    if (is_finite(convert<E4>(a))) RC_ASSERT((to_bits(convert<E4>(a)) == to_bits(convert<E4, Overflow::saturate>(a))));
    RC_ASSERT((is_finite(convert<float16, Overflow::saturate>(a)) && is_finite(convert<E4, Overflow::saturate>(a))));
  });
}

TEST_CASE("a_value_that_the_narrow_type_holds_comes_back") {
  holds_for_all([](std::uint16_t pattern) {
    const float16 half = from_bits<float16>(pattern);
    const bfloat16 brain = from_bits<bfloat16>(pattern);
    if (!is_nan(half)) RC_ASSERT(to_bits(convert<float16>(convert<double>(half))) == pattern);
    if (!is_nan(brain)) RC_ASSERT(to_bits(convert<bfloat16>(convert<double>(brain))) == pattern);
  });
}

TEST_CASE("scaling_by_a_power_of_two_is_exact_in_the_normal_range") {
  holds_for_all([] {
    const auto fraction = *rc::gen::inRange<std::uint16_t>(0, 1024);
    const auto field = *rc::gen::inRange<int>(1, 31);
    const float16 g = from_bits<float16>(static_cast<std::uint16_t>(field << 10 | fraction));
    const float scale = std::ldexp(1.f, *rc::gen::inRange<int>(-100, 100));
    const float scaled = mezzo::exact::mul(convert<float>(g), scale);
    RC_ASSERT(mezzo::exact::mul(scaled, 1.f / scale) == convert<float>(g));
  });
}

TEST_CASE("the_error_of_one_rounding_is_at_most_half_an_ulp") {
  holds_for_all([] {
    const float a = any_float();
    if (const float h = through<float16>(a); std::fabs(a) <= 65504.f) {
      const double ulp = std::ldexp(1., std::max(std::ilogb(std::fmax(std::fabs(a), 0x1p-30f)), -14) - 10);
      RC_ASSERT(std::fabs(static_cast<double>(a) - static_cast<double>(h)) <= ulp / 2);
    }
  });
}

TEST_CASE("powers_multiply") {
  holds_for_all([] {
    const auto base = static_cast<double>(*rc::gen::inRange<int>(500'000, 1'000'000)) / 1e6;
    const auto m = *rc::gen::inRange<std::uint64_t>(0, 300), n = *rc::gen::inRange<std::uint64_t>(0, 300);
    // At most m + n roundings reach the sum's power, as many the product of the two, and the product rounds once more.
    const double bound = (2. * static_cast<double>(m + n) + 1.) * 0x1p-53 * 1.001;
    const double whole = mezzo::exact::pow_int(base, m + n), parts = mezzo::exact::pow_int(base, m) * mezzo::exact::pow_int(base, n);
    RC_ASSERT(std::fabs(whole - parts) <= bound * whole);
  });
}

}  // namespace
