// Compares a header's list of tags with one that the test writes down itself.
#pragma once

#include <string_view>
#include <type_traits>

#include <mezzo/policy/op_tag.hpp>

namespace mezzo::test {

template <class Op, class List>
inline constexpr bool is_in = false;
template <class Op, class... Ops>
inline constexpr bool is_in<Op, OpList<Ops...>> = (std::is_same_v<Op, Ops> + ... + 0) == 1;

/// Every op of `Wanted` is in `Ops` once and follows `Rule`, and there are no more.
template <class Ops, CastRule Rule, class... Wanted>
inline constexpr bool holds_exactly =
  Ops::size == sizeof...(Wanted) && ((is_in<Wanted, Ops> && Wanted::rule == Rule) && ...);

/// How many of `Ops` fix bool as their result.
template <class Op>
constexpr bool returns_bool() {
  if constexpr (requires { typename Op::result_type; }) {
    return std::is_same_v<typename Op::result_type, bool>;
  } else {
    return false;
  }
}
template <class... Ops>
inline constexpr int comparisons = (int{returns_bool<Ops>()} + ...);

}  // namespace mezzo::test
