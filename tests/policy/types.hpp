// Short ways to state the types of a call in static_asserts.
#pragma once

#include <cstdint>
#include <type_traits>

#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>

namespace mezzo::test {

template <class... Types>
struct List {};

template <class A, class B>
inline constexpr bool same = std::is_same_v<A, B>;

namespace detail {

template <class Policy, class Op, class Given, class Read>
struct Reads;
template <class Policy, class Op, class A, class RA>
struct Reads<Policy, Op, List<A>, List<RA>> {
  static constexpr bool value = same<argument_type_t<Policy, Op, A>, RA>;
};
template <class Policy, class Op, class A, class B, class RA, class RB>
struct Reads<Policy, Op, List<A, B>, List<RA, RB>> {
  static constexpr bool value = same<argument_type_t<Policy, Op, A, B>, RA> && same<argument_type_t<Policy, Op, B, A>, RB>;
};
template <class Policy, class Op, class A, class B, class C, class RA, class RB, class RC>
struct Reads<Policy, Op, List<A, B, C>, List<RA, RB, RC>> {
  static constexpr bool value = same<argument_type_t<Policy, Op, A, B, C>, RA> && same<argument_type_t<Policy, Op, B, A, C>, RB> &&
                                same<argument_type_t<Policy, Op, C, A, B>, RC>;
};

template <class Policy, class Op, class Given>
struct Of;
template <class Policy, class Op, class... Given>
struct Of<Policy, Op, List<Given...>> {
  using compute = compute_type_t<Policy, Op, Given...>;
  using result = result_type_t<Policy, Op, Given...>;
};

}  // namespace detail

/// `Op` called with `Given` under `Policy` reads its arguments as `Read`, computes in `Compute` and returns `Result`.
template <class Policy, class Op, class Given, class Read, class Compute, class Result>
inline constexpr bool call_is = detail::Reads<Policy, Op, Given, Read>::value &&
                                same<typename detail::Of<Policy, Op, Given>::compute, Compute> &&
                                same<typename detail::Of<Policy, Op, Given>::result, Result>;

/// A tag for each rule, so that the rules are tested apart from mezzo's own tags.
template <CastRule Rule>
struct tag {
  static constexpr const char* name = "tag";
  static constexpr CastRule rule = Rule;
};
using lower = tag<CastRule::lower_precision>;
using full = tag<CastRule::float32>;
using output = tag<CastRule::float32_output>;
using promote = tag<CastRule::promote>;
using pass = tag<CastRule::pass_through>;
using banned = tag<CastRule::banned>;

}  // namespace mezzo::test
