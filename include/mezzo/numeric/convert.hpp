#pragma once
// Conversion between any two element types, rounded once to nearest even, the same bits on host and device.

#include <mezzo/numeric/arithmetic.hpp>
#include <mezzo/numeric/finite.hpp>

namespace mezzo {

/// What becomes of a finite value beyond the largest one.
enum class Overflow : stdlib::uint8_t {
  to_infinity,  ///< infinity, as IEEE 754 asks; NaN in E4M3, which has none (torch's casts do the same)
  saturate      ///< the largest finite value of that sign; infinities saturate too, a NaN stays NaN
};

namespace detail {

/// Rounds the double with these bits to `To`, in integers only. Any narrower type widens to double exactly, so this one
/// function defines every narrowing conversion; the functions below are faster forms of it.
template <Element To>
MEZZO_HOST_DEVICE constexpr typename element_traits<To>::bits_type encode(stdlib::uint64_t source, Overflow overflow) {
  using Traits = element_traits<To>;
  using Bits = typename Traits::bits_type;
  using stdlib::uint64_t;
  constexpr uint64_t one = 1;
  const Bits sign = (source >> 63) != 0 ? Traits::sign_mask : Bits{0};
  const int field = static_cast<int>((source >> 52) & 0x7ff);
  const uint64_t fraction = source & ((one << 52) - 1);
  const Bits largest = overflow == Overflow::saturate ? Traits::max_bits : Traits::overflow_bits;

  if (field == 0x7ff) return static_cast<Bits>(sign | (fraction != 0 ? Traits::quiet_nan_bits : largest));
  if (field == 0) return sign;  // zero, or a subnormal double: far below half of any smallest subnormal

  const int exponent = field - 1023;
  const uint64_t significand = fraction | (one << 52);
  const int below = exponent < Traits::min_exponent ? Traits::min_exponent - exponent : 0;
  const int shift = 52 - Traits::fraction_bits + below;
  if (shift > 53) return sign;  // below half of the smallest subnormal
  const uint64_t half = one << (shift - 1);
  const uint64_t rest = significand & ((one << shift) - 1);
  uint64_t rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // The leading one of `rounded` carries into the exponent field, as does a round-up to the next binade.
  const int above = exponent > Traits::min_exponent ? exponent - Traits::min_exponent : 0;
  const uint64_t magnitude = (static_cast<uint64_t>(above) << Traits::fraction_bits) + rounded;
  return static_cast<Bits>(sign | (magnitude > Traits::max_bits ? largest : static_cast<Bits>(magnitude)));
}

/// float to float16 without branches, so that g++ can vectorise a loop over it.
MEZZO_HOST_DEVICE constexpr stdlib::uint16_t encode_float16(stdlib::uint32_t source) {
  using stdlib::uint32_t;
  const uint32_t sign = (source >> 16) & 0x8000U;
  const uint32_t magnitude = source & 0x7fffffffU;
  const uint32_t normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  const uint32_t field = magnitude >> 23;
  const uint32_t shift = field < 102U ? 25U : 126U - (field > 112U ? 112U : field);  // 14 to 25 places
  const uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
  const uint32_t odd = (significand >> shift) & 1U;
  const uint32_t subnormal = field < 102U ? 0U : (significand + ((1U << (shift - 1)) - 1U) + odd) >> shift;
  const uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const uint32_t rounded = magnitude < 0x38800000U ? subnormal : normal;
  return static_cast<stdlib::uint16_t>(sign | (magnitude >= 0x47800000U ? special : rounded));
}

MEZZO_HOST_DEVICE constexpr stdlib::uint16_t encode_bfloat16(stdlib::uint32_t source) {
  using stdlib::uint32_t;
  const uint32_t rounded = (source + 0x7fffU + ((source >> 16) & 1U)) >> 16;
  const uint32_t quiet = ((source >> 16) & 0x8000U) | 0x7fc0U;
  return static_cast<stdlib::uint16_t>((source & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

/// Value of a type narrower than float; exact.
template <Element From>
MEZZO_HOST_DEVICE constexpr float decode(typename element_traits<From>::bits_type bits) {
  using Traits = element_traits<From>;
  using stdlib::uint32_t;
  if constexpr (stdlib::is_same_v<From, bfloat16>) {
    return from_bits<float>(static_cast<uint32_t>(bits) << 16);
  } else {
    constexpr int move = 23 - Traits::fraction_bits;
    constexpr uint32_t rebias = static_cast<uint32_t>(127 - Traits::bias) << 23;
    const uint32_t sign = static_cast<uint32_t>(bits & Traits::sign_mask) << (31 - Traits::exponent_bits - Traits::fraction_bits);
    const uint32_t magnitude = bits & static_cast<uint32_t>(Traits::exponent_mask | Traits::fraction_mask);
    const uint32_t normal = (magnitude << move) + rebias;
    // A subnormal is an integer times a power of two: exact in every rounding mode.
    constexpr uint32_t step = static_cast<uint32_t>(127 + Traits::min_exponent - Traits::fraction_bits) << 23;
    const uint32_t subnormal = to_bits(static_cast<float>(static_cast<stdlib::int32_t>(magnitude)) * from_bits<float>(step));
    uint32_t result = magnitude < (uint32_t{1} << Traits::fraction_bits) ? subnormal : normal;
    if constexpr (Traits::has_infinity) {
      result = magnitude >= Traits::exponent_mask ? normal + rebias : result;
      result = magnitude > Traits::exponent_mask ? (result | 0x400000U) : result;  // NaNs come out quiet
    } else {
      result = magnitude == Traits::overflow_bits ? 0x7fc00000U : result;
    }
    return from_bits<float>(sign | result);
  }
}

template <Element From>
MEZZO_HOST_DEVICE constexpr float widen(From value) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    if constexpr (stdlib::is_same_v<From, float16>) return __half2float(value);
  }
#endif
  return decode<From>(to_bits(value));
}

template <Element To>
MEZZO_HOST_DEVICE constexpr To narrow(float value, Overflow overflow) {
  if (overflow == Overflow::to_infinity) {
#ifdef __CUDA_ARCH__
    if (!__builtin_is_constant_evaluated()) {
      if constexpr (stdlib::is_same_v<To, float16>) return __float2half_rn(value);
      if constexpr (stdlib::is_same_v<To, bfloat16>) return __float2bfloat16_rn(value);
    }
#endif
    if constexpr (stdlib::is_same_v<To, float16>) return from_bits<To>(encode_float16(to_bits(value)));
    if constexpr (stdlib::is_same_v<To, bfloat16>) return from_bits<To>(encode_bfloat16(to_bits(value)));
  }
  return from_bits<To>(encode<To>(to_bits(exact::to_double(value)), overflow));
}

}  // namespace detail

/// `value` as a `To`, rounded once to nearest even.
///
/// Widening is exact; double to a 16- or 8-bit type is rounded once, not through float. Subnormals are kept, the sign of
/// zero too; a NaN stays a NaN (payload not kept). Usable in constant expressions.
/// Source: IEEE 754 roundTiesToEven; the OCP 8-bit format specification for E4M3 and E5M2.
template <Element To, Overflow OnOverflow = Overflow::to_infinity, Element From>
MEZZO_HOST_DEVICE constexpr To convert(From value) {
  if constexpr (OnOverflow == Overflow::saturate && element_traits<From>::has_infinity) {
    // Also where the target is wider or the type stays: there no rounding would meet the infinity.
    if (!is_finite(value) && !is_nan(value)) {
      const bool negative = (to_bits(value) & element_traits<From>::sign_mask) != 0;
      return negative ? element_limits<To>::lowest() : element_limits<To>::largest();
    }
  }
  if constexpr (stdlib::is_same_v<To, From>) {
    return value;
  } else if constexpr (stdlib::is_same_v<To, float>) {
    if constexpr (stdlib::is_same_v<From, double>) {
      if constexpr (OnOverflow == Overflow::saturate) return from_bits<float>(detail::encode<float>(to_bits(value), OnOverflow));
      return exact::to_float(value);
    } else {
      return detail::widen(value);
    }
  } else if constexpr (stdlib::is_same_v<To, double>) {
    return exact::to_double(convert<float>(value));
  } else if constexpr (stdlib::is_same_v<From, double>) {
    return from_bits<To>(detail::encode<To>(to_bits(value), OnOverflow));
  } else {
    return detail::narrow<To>(convert<float>(value), OnOverflow);
  }
}

}  // namespace mezzo
