// Policies as types: overrides, regions, policies made from others.
#include <doctest/doctest.h>

#include "types.hpp"

using namespace mezzo;
using namespace mezzo::test;

namespace {

using Policy = Autocast<float16>;
template <class P, class Op>
inline constexpr CastRule rule_of = P::template rule<Op>;

}  // namespace

TEST_CASE("a policy is an empty type with the low type and the rules of the tags") {
  static_assert(std::is_empty_v<Policy> && std::is_trivial_v<Policy>);
  static_assert(same<Policy::low_type, float16> && Policy::is_enabled);
  static_assert(rule_of<Policy, op::matmul> == CastRule::lower_precision);
  static_assert(rule_of<Policy, op::exp> == CastRule::float32);
}

TEST_CASE("an override changes one op and no other") {
  using Tuned = Policy::with<op::softmax, CastRule::lower_precision>;
  static_assert(rule_of<Tuned, op::softmax> == CastRule::lower_precision);
  static_assert(rule_of<Tuned, op::log_softmax> == CastRule::float32_output);
  static_assert(rule_of<Policy, op::softmax> == CastRule::float32_output);
  static_assert(same<with_t<Policy, op::softmax, CastRule::lower_precision>, Tuned>);
}
TEST_CASE("of two overrides of one op the last wins") {
  using P = Policy::with<op::exp, CastRule::lower_precision>::with<op::exp, CastRule::promote>;
  static_assert(rule_of<P, op::exp> == CastRule::promote);
  using Back = P::with<op::exp, CastRule::float32>;
  static_assert(rule_of<Back, op::exp> == CastRule::float32);
}
TEST_CASE("several ops are overridden at once") {
  using P = Policy::with_each<CastRule::float32, op::conv2d, op::linear>;
  static_assert(rule_of<P, op::conv2d> == CastRule::float32 && rule_of<P, op::linear> == CastRule::float32);
  static_assert(rule_of<P, op::matmul> == CastRule::lower_precision);
}
TEST_CASE("a whole rule is overridden, also for ops that are written later") {
  using P = Policy::with_rule<CastRule::float32_output, CastRule::float32>;
  static_assert(rule_of<P, op::softmax> == CastRule::float32 && rule_of<P, output> == CastRule::float32);
  static_assert(rule_of<P, op::matmul> == CastRule::lower_precision);
}
TEST_CASE("changes apply in order: a rule override sees the rules as they are by then") {
  using First = Policy::with<op::softmax, CastRule::promote>::with_rule<CastRule::float32_output, CastRule::float32>;
  static_assert(rule_of<First, op::softmax> == CastRule::promote);
  using Then = Policy::with_rule<CastRule::float32_output, CastRule::float32>::with<op::softmax, CastRule::promote>;
  static_assert(rule_of<Then, op::softmax> == CastRule::promote);
  using Moved = Policy::with<op::softmax, CastRule::float32>::with_rule<CastRule::float32, CastRule::lower_precision>;
  static_assert(rule_of<Moved, op::softmax> == CastRule::lower_precision);
}
TEST_CASE("overriding a banned op lifts the ban, and any op can be banned") {
  using Lifted = Policy::with<op::binary_cross_entropy, CastRule::float32>;
  static_assert(call_is<Lifted, op::binary_cross_entropy, List<float16>, List<float>, float, float>);
  static_assert(rule_of<Policy::with<op::pow, CastRule::banned>, op::pow> == CastRule::banned);
}

TEST_CASE("a region is disabled and enabled again with all overrides kept") {
  using Tuned = Policy::with<op::softmax, CastRule::lower_precision>;
  using Off = Tuned::disabled;
  static_assert(!Off::is_enabled);
  static_assert(same<Off::disabled, Off> && same<Off::enabled, Tuned> && same<disabled_t<Tuned>, Off> && same<enabled_t<Off>, Tuned>);
  static_assert(same<result_type_t<Off, op::softmax, float>, float>);
  static_assert(same<result_type_t<Off::enabled, op::softmax, float>, float16>);
}
TEST_CASE("an override made in a disabled region takes effect when it is enabled again") {
  using P = Policy::disabled::with<op::exp, CastRule::lower_precision>;
  static_assert(same<compute_type_t<P, op::exp, float>, float>);
  static_assert(same<compute_type_t<P::enabled, op::exp, float>, float16>);
}
TEST_CASE("a nested region with another low type casts to that type") {
  using Inner = Policy::with<op::softmax, CastRule::lower_precision>::with_low<bfloat16>;
  static_assert(same<compute_type_t<Inner, op::matmul, float16>, bfloat16>);
  static_assert(same<result_type_t<Inner, op::softmax, float16>, bfloat16>);  // the overrides came along
}

namespace {

struct Named : Autocast<bfloat16>::with<op::softmax, CastRule::lower_precision> {};  // a short name in error messages

struct OnlyMatmul {  // nothing of mezzo's classes
  using low_type = float16;
  using disabled = OnlyMatmul;
  using enabled = OnlyMatmul;
  static constexpr bool is_enabled = true;
  template <class Op>
  static constexpr CastRule rule = std::is_same_v<Op, op::matmul> ? CastRule::lower_precision : CastRule::float32;
};

struct NoRule {
  using low_type = float16;
  using disabled = NoRule;
  using enabled = NoRule;
  static constexpr bool is_enabled = true;
};

}  // namespace

TEST_CASE("a policy may be derived from another or written by hand") {
  static_assert(AutocastPolicy<Named> && same<result_type_t<Named, op::softmax, float>, bfloat16>);
  static_assert(AutocastPolicy<OnlyMatmul> && same<compute_type_t<OnlyMatmul, op::matmul, float>, float16>);
  static_assert(same<compute_type_t<OnlyMatmul, op::conv2d, float16>, float>);
}
TEST_CASE("what lacks a low type, a region or a rule is no policy") {
  static_assert(!AutocastPolicy<float16> && !AutocastPolicy<NoRule> && !AutocastPolicy<op::matmul>);
}
