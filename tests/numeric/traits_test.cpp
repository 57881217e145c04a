#include <mezzo/numeric/traits.hpp>

#include <string>

#include <doctest/doctest.h>

#include "numeric/reference.hpp"

namespace {

using mezzo::bfloat16;
using mezzo::element_traits;
using mezzo::ElementType;
using mezzo::float16;
using mezzo::float8_e4m3;
using mezzo::float8_e5m2;

template <class T>
void check_format(const reference::Format& format, const char* name, ElementType type, std::size_t bytes) {
  using Traits = element_traits<T>;
  CAPTURE(name);
  CHECK(Traits::exponent_bits == format.exponent_bits);
  CHECK(Traits::fraction_bits == format.fraction_bits);
  CHECK(Traits::has_infinity == format.has_infinity);
  CHECK(Traits::bias == format.bias());
  CHECK(Traits::max_bits == format.largest());
  CHECK(Traits::overflow_bits == format.finite_end());
  CHECK(Traits::sign_mask == format.sign());
  CHECK(format.is_nan(Traits::quiet_nan_bits));
  CHECK((Traits::exponent_mask | Traits::fraction_mask | Traits::sign_mask) == format.sign() * 2 - 1);
  CHECK((Traits::exponent_mask & Traits::fraction_mask) == 0);
  // The largest value's exponent and the smallest normal's, from the reference's reading of the patterns.
  const reference::Dyadic largest = value(format, format.largest());
  CHECK(Traits::max_exponent == largest.e + format.fraction_bits);
  CHECK(Traits::min_exponent == value(format, std::uint64_t{1} << format.fraction_bits).e + format.fraction_bits);
  CHECK(std::string(Traits::name) == name);
  CHECK(Traits::type == type);
  CHECK(mezzo::element_type_of<T> == type);
  CHECK(std::string(mezzo::name_of(type)) == name);
  CHECK(mezzo::size_of(type) == bytes);
  CHECK(sizeof(T) == bytes);
  CHECK(sizeof(typename Traits::bits_type) == bytes);
}

TEST_CASE("traits_describe_the_formats") {
  check_format<float16>(reference::f16, "float16", ElementType::f16, 2);
  check_format<bfloat16>(reference::bf16, "bfloat16", ElementType::bf16, 2);
  check_format<float8_e4m3>(reference::e4m3, "float8_e4m3", ElementType::f8_e4m3, 1);
  check_format<float8_e5m2>(reference::e5m2, "float8_e5m2", ElementType::f8_e5m2, 1);
  check_format<float>(reference::f32, "float32", ElementType::f32, 4);
  check_format<double>(reference::f64, "float64", ElementType::f64, 8);
}

TEST_CASE("a_value_that_names_no_element_type_is_unknown_and_has_no_size") {
  const auto none = static_cast<ElementType>(99);
  CHECK(std::string(mezzo::name_of(none)) == "unknown");
  CHECK(mezzo::size_of(none) == 0);
}

static_assert(mezzo::Element<float16> && mezzo::Element<double> && !mezzo::Element<int> && !mezzo::Element<const float>);
static_assert(mezzo::SixteenBit<float16> && mezzo::SixteenBit<bfloat16> && !mezzo::SixteenBit<float> && !mezzo::SixteenBit<float8_e4m3>);
static_assert(mezzo::EightBit<float8_e4m3> && mezzo::EightBit<float8_e5m2> && !mezzo::EightBit<float16>);
static_assert(mezzo::FullPrecision<float> && mezzo::FullPrecision<double> && !mezzo::FullPrecision<float16> &&
              !mezzo::FullPrecision<const float>);

}  // namespace
