#pragma once
// The arithmetic of one element, the same bits on every executor.

#include <mezzo/numeric/convert.hpp>

namespace mezzo::detail {

/// Whether a value passes a rectifier: positive, or NaN so that it stays visible. By bits, so that it also holds under
/// -ffast-math and without conversion.
template <Element T>
MEZZO_HOST_DEVICE constexpr bool passes_relu(T value) {
  using Traits = element_traits<T>;
  using Bits = typename Traits::bits_type;
  const Bits bits = to_bits(value);
  const Bits magnitude = static_cast<Bits>(bits & static_cast<Bits>(~Traits::sign_mask));
  const bool positive = bits != 0 && bits == magnitude;
  return positive || is_nan(value);
}

/// value where `gate` passes, +0 elsewhere.
template <Element T, Element Gate>
MEZZO_HOST_DEVICE constexpr T relu_gated(T value, Gate gate) {
  using Bits = typename element_traits<T>::bits_type;
  return from_bits<T>(passes_relu(gate) ? to_bits(value) : Bits{0});
}

/// a + b in the wider of float and their types, rounded once to R.
template <Element R, Element A, Element B>
MEZZO_HOST_DEVICE constexpr R sum_of(A a, B b) {
  constexpr bool wide = stdlib::is_same_v<A, double> || stdlib::is_same_v<B, double> || stdlib::is_same_v<R, double>;
  using Sum = stdlib::conditional_t<wide, double, float>;
  return convert<R>(exact::add(convert<Sum>(a), convert<Sum>(b)));
}

}  // namespace mezzo::detail
