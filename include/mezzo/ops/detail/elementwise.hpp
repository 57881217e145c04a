#pragma once
// The arithmetic of one element, the same bits on every executor.

#include <mezzo/numeric/convert.hpp>

namespace mezzo::detail {

/// All ones where the value with these bits passes a rectifier, zero elsewhere. Positive values pass, and NaNs, so that they
/// stay visible. By bits, so that it also holds under -ffast-math; without branches, so that loops vectorise.
template <Element T>
MEZZO_HOST_DEVICE constexpr typename element_traits<T>::bits_type relu_mask(typename element_traits<T>::bits_type bits) {
  using Traits = element_traits<T>;
  using Bits = typename Traits::bits_type;
  constexpr Bits last_number = static_cast<Bits>(Traits::sign_mask | (Traits::has_infinity ? Traits::exponent_mask : Traits::max_bits));
  const Bits positive = static_cast<Bits>(bits - 1) < static_cast<Bits>(Traits::sign_mask - 1) ? 1 : 0;  // or a NaN without sign
  const Bits negative_nan = bits > last_number ? 1 : 0;
  return static_cast<Bits>(-(positive | negative_nan));
}

/// a + b in the wider of float and their types, rounded once to R.
template <Element R, Element A, Element B>
MEZZO_HOST_DEVICE constexpr R sum_of(A a, B b) {
  constexpr bool wide = stdlib::is_same_v<A, double> || stdlib::is_same_v<B, double> || stdlib::is_same_v<R, double>;
  using Sum = stdlib::conditional_t<wide, double, float>;
  return convert<R>(exact::add(convert<Sum>(a), convert<Sum>(b)));
}

}  // namespace mezzo::detail
