#pragma once
// An argument with its scale: what an 8-bit low type needs, where nothing is cast without one.

#include <mezzo/numeric/convert.hpp>

namespace mezzo {

/// An argument and the factor it is multiplied with before its cast; made by `with_scale`.
template <class T>
struct Scaled {
  T value;
  float scale;
};

/// `x` (a value or data) together with the factor that brings it into the range of an 8-bit type.
///
///     using Fp8 = Autocast<float8_e4m3>;
///     autocast<Fp8, op::matmul>(gemm, with_scale(a, sa), with_scale(b, sb));   // gemm divides its sums by sa * sb
///
/// The op receives `x * scale`, rounded once and saturated at the 8-bit type's largest value. Under a 16-bit policy and in a
/// disabled region the factor is applied all the same, so that the op's own division stays right.
/// @param x     a value is copied; a container given by name is referred to and must outlive the call.
/// @param scale finite and not zero; a power of two makes the product exact.
template <class T>
MEZZO_HOST_DEVICE constexpr auto with_scale(T&& x, float scale) {
  using Plain = stdlib::remove_cvref_t<T>;
  using Kept = stdlib::conditional_t<stdlib::is_lvalue_reference_v<T> && !Element<Plain>, T, Plain>;
  return Scaled<Kept>{static_cast<T&&>(x), scale};
}

namespace detail {

template <class T>
inline constexpr bool is_scaled = false;
template <class T>
inline constexpr bool is_scaled<Scaled<T>> = true;

/// Values are converted as they are.
struct NoFactor {
  template <Element To, Element From>
  MEZZO_HOST_DEVICE constexpr To apply(From value) const {
    return convert<To>(value);
  }
};

/// Values are multiplied on the way.
struct Factor {
  float value = 1.f;

  template <Element To, Element From>
  MEZZO_HOST_DEVICE constexpr To apply(From x) const {
    constexpr Overflow overflow = EightBit<To> ? Overflow::saturate : Overflow::to_infinity;
    if constexpr (stdlib::is_same_v<From, double>) {
      return convert<To, overflow>(exact::mul(x, static_cast<double>(value)));
    } else {
      return convert<To, overflow>(exact::mul(convert<float>(x), value));
    }
  }
};

}  // namespace detail
}  // namespace mezzo
