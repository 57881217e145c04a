#pragma once
// The bits of an element and back, in constant expressions too, on host and device.

#include <mezzo/numeric/traits.hpp>

namespace mezzo {

/// Bit pattern of one element.
template <Element T>
MEZZO_HOST_DEVICE constexpr typename element_traits<T>::bits_type to_bits(T value) {
  return __builtin_bit_cast(typename element_traits<T>::bits_type, value);
}

/// The element with this bit pattern.
template <Element T>
MEZZO_HOST_DEVICE constexpr T from_bits(typename element_traits<T>::bits_type bits) {
  return __builtin_bit_cast(T, bits);
}

/// Largest finite value, smallest normal value, one ulp of 1, quiet NaN and, where the format has one, infinity.
template <Element T>
struct element_limits {
  using Traits = element_traits<T>;
  using Bits = typename Traits::bits_type;
  MEZZO_HOST_DEVICE static constexpr T largest() { return from_bits<T>(Traits::max_bits); }
  MEZZO_HOST_DEVICE static constexpr T lowest() { return from_bits<T>(static_cast<Bits>(Traits::max_bits | Traits::sign_mask)); }
  MEZZO_HOST_DEVICE static constexpr T smallest_normal() { return from_bits<T>(static_cast<Bits>(Bits{1} << Traits::fraction_bits)); }
  MEZZO_HOST_DEVICE static constexpr T smallest_subnormal() { return from_bits<T>(Bits{1}); }
  MEZZO_HOST_DEVICE static constexpr T quiet_nan() { return from_bits<T>(Traits::quiet_nan_bits); }
  MEZZO_HOST_DEVICE static constexpr T infinity()
    requires Traits::has_infinity
  {
    return from_bits<T>(Traits::overflow_bits);
  }
  /// Distance from 1 to the next value: 2^-10 for float16, 2^-7 for bfloat16.
  static constexpr double epsilon = 1.0 / static_cast<double>(stdlib::uint64_t{1} << Traits::fraction_bits);
};

}  // namespace mezzo
