#pragma once
// The join of element types: a table of our own, since `std::common_type<__half, float>` has no type.

#include <mezzo/numeric/traits.hpp>

namespace mezzo {

namespace detail {

template <class A, class B>
MEZZO_HOST_DEVICE constexpr auto promote_pair() {
  using stdlib::is_same_v;
  if constexpr (is_same_v<A, B>) {
    return stdlib::type_identity<A>{};
  } else if constexpr (!Element<A> && !Element<B>) {
    return stdlib::type_identity<stdlib::common_type_t<A, B>>{};  // integers and bool, as C++ has it
  } else if constexpr (!Element<A>) {
    return stdlib::type_identity<B>{};  // an integer never widens a floating type
  } else if constexpr (!Element<B>) {
    return stdlib::type_identity<A>{};
  } else if constexpr (is_same_v<A, double> || is_same_v<B, double>) {
    return stdlib::type_identity<double>{};
  } else if constexpr (EightBit<A> && SixteenBit<B>) {
    return stdlib::type_identity<B>{};
  } else if constexpr (SixteenBit<A> && EightBit<B>) {
    return stdlib::type_identity<A>{};
  } else {
    return stdlib::type_identity<float>{};  // with float, or two different types of one width: neither holds the other
  }
}

template <class... Types>
struct Promote;
template <class A>
struct Promote<A> {
  using type = A;
};
template <class A, class B, class... Rest>
struct Promote<A, B, Rest...> : Promote<typename decltype(promote_pair<A, B>())::type, Rest...> {};

}  // namespace detail

/// The widest of the types: float16 with bfloat16 is float, an 8-bit type with a 16-bit one is the 16-bit one, double
/// wins over all, and an integer leaves a floating type as it is.
template <class... Types>
using promote_t = typename detail::Promote<Types...>::type;

}  // namespace mezzo
