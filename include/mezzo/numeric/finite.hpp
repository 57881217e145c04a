#pragma once
// Finiteness by bits: `std::isfinite` and `x != x` are folded away under -ffast-math and --use_fast_math.

#include <mezzo/numeric/bits.hpp>

namespace mezzo {

/// True unless `value` is an infinity or a NaN. An integer test: it holds in every build.
template <Element T>
MEZZO_HOST_DEVICE constexpr bool is_finite(T value) {
  using Traits = element_traits<T>;
  const auto bits = to_bits(value);
  if constexpr (Traits::has_infinity) {
    return (bits & Traits::exponent_mask) != Traits::exponent_mask;
  } else {
    return static_cast<typename Traits::bits_type>(bits & ~Traits::sign_mask) != Traits::overflow_bits;
  }
}

/// True for a NaN of any sign and payload.
template <Element T>
MEZZO_HOST_DEVICE constexpr bool is_nan(T value) {
  using Traits = element_traits<T>;
  using Bits = typename Traits::bits_type;
  const auto magnitude = static_cast<Bits>(to_bits(value) & static_cast<Bits>(~Traits::sign_mask));
  if constexpr (Traits::has_infinity) {
    return magnitude > Traits::exponent_mask;
  } else {
    return magnitude == Traits::overflow_bits;
  }
}

}  // namespace mezzo
