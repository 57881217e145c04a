#pragma once
// The join of element types: a table of our own, since `std::common_type<__half, float>` has no type.

#include <mezzo/numeric/traits.hpp>

namespace mezzo {

namespace detail {

template <class T>
concept Promotable = Element<T> || stdlib::is_integral_v<T>;

/// Decided on the whole list, so that no order matters.
template <class... Types>
MEZZO_HOST_DEVICE constexpr auto promote() {
  static_assert((Promotable<Types> && ...), "promote_t: each type must be one of mezzo's element types, an integer or bool.");
  constexpr bool wide = (stdlib::is_same_v<Types, float> || ...);
  constexpr bool half = (stdlib::is_same_v<Types, float16> || ...);
  constexpr bool bf16 = (stdlib::is_same_v<Types, bfloat16> || ...);
  constexpr bool e4m3 = (stdlib::is_same_v<Types, float8_e4m3> || ...);
  constexpr bool e5m2 = (stdlib::is_same_v<Types, float8_e5m2> || ...);
  if constexpr ((stdlib::is_same_v<Types, double> || ...)) {
    return stdlib::type_identity<double>{};
  } else if constexpr (wide || (half && bf16)) {
    return stdlib::type_identity<float>{};  // neither 16-bit type holds the other
  } else if constexpr (half) {
    return stdlib::type_identity<float16>{};
  } else if constexpr (bf16) {
    return stdlib::type_identity<bfloat16>{};
  } else if constexpr (e4m3 && e5m2) {
    return stdlib::type_identity<float>{};
  } else if constexpr (e4m3) {
    return stdlib::type_identity<float8_e4m3>{};
  } else if constexpr (e5m2) {
    return stdlib::type_identity<float8_e5m2>{};
  } else {
    return stdlib::type_identity<stdlib::common_type_t<Types...>>{};  // integers and bool, as C++ has it
  }
}

}  // namespace detail

/// The widest of the types: float16 with bfloat16 is float, an 8-bit type with a 16-bit one is the 16-bit one, double
/// wins over all, and an integer leaves a floating type as it is.
template <class... Types>
using promote_t = typename decltype(detail::promote<Types...>())::type;

}  // namespace mezzo
