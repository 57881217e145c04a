#include <mezzo/numeric/bits.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "numeric/reference.hpp"

namespace {

using mezzo::element_limits;
using mezzo::from_bits;
using mezzo::to_bits;

template <class T>
void check_every_pattern_comes_back() {
  using Bits = typename mezzo::element_traits<T>::bits_type;
  std::uint32_t differ = 0;
  for (std::uint32_t p = 0; p < std::uint32_t{1} << (8 * sizeof(T)); ++p) differ += to_bits(from_bits<T>(static_cast<Bits>(p))) != p;
  CHECK(differ == 0);
}

TEST_CASE("every_pattern_comes_back_nans_included") {
  check_every_pattern_comes_back<mezzo::float16>();
  check_every_pattern_comes_back<mezzo::bfloat16>();
  check_every_pattern_comes_back<mezzo::float8_e4m3>();
  check_every_pattern_comes_back<mezzo::float8_e5m2>();
  for (const std::uint32_t p : {0U, 1U, 0x3f800000U, 0x7f800001U, 0xffffffffU}) CHECK(to_bits(from_bits<float>(p)) == p);
  for (const std::uint64_t p : {0ULL, 0x7ff0000000000001ULL}) CHECK(to_bits(from_bits<double>(p)) == p);
}

/// A limit's pattern against the reference's reading of the format.
template <class T>
void check_limits(const reference::Format& format) {
  using L = element_limits<T>;
  const std::uint64_t one = pattern(format, {1, 0});
  CHECK(to_bits(L::largest()) == format.largest());
  CHECK(to_bits(L::lowest()) == (format.largest() | format.sign()));
  CHECK(to_bits(L::smallest_normal()) == std::uint64_t{1} << format.fraction_bits);
  CHECK(to_bits(L::smallest_subnormal()) == 1);
  CHECK(format.is_nan(to_bits(L::quiet_nan())));
  const reference::Dyadic above = value(format, one + 1);
  CHECK(L::epsilon == std::ldexp(static_cast<double>(above.m), above.e) - 1.);
  if constexpr (requires { L::infinity(); }) {
    CHECK(format.has_infinity);
    CHECK(to_bits(L::infinity()) == format.finite_end());
  } else {
    CHECK_FALSE(format.has_infinity);
  }
}

TEST_CASE("limits_are_those_of_the_formats") {
  check_limits<mezzo::float16>(reference::f16);
  check_limits<mezzo::bfloat16>(reference::bf16);
  check_limits<mezzo::float8_e4m3>(reference::e4m3);
  check_limits<mezzo::float8_e5m2>(reference::e5m2);
  check_limits<float>(reference::f32);
  check_limits<double>(reference::f64);
  CHECK(element_limits<float>::largest() == std::numeric_limits<float>::max());
  CHECK(element_limits<float>::smallest_normal() == std::numeric_limits<float>::min());
  CHECK(element_limits<double>::smallest_subnormal() == std::numeric_limits<double>::denorm_min());
}

static_assert(to_bits(from_bits<mezzo::float16>(0x3c00)) == 0x3c00, "usable in constant expressions");

}  // namespace
