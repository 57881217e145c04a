#pragma once
// Policies: types that say which ops run in half and which in float.

#include <mezzo/numeric/traits.hpp>
#include <mezzo/policy/op_tag.hpp>

namespace mezzo {

/// Whether a policy casts at all.
enum class Region : stdlib::uint8_t {
  enabled,
  disabled  ///< every op takes its arguments as they are, banned ops included
};

/// One change to a policy: `Op` follows `Rule`.
template <class Op, CastRule Rule>
struct Override {
  template <class Asked>
  MEZZO_HOST_DEVICE static constexpr CastRule apply(CastRule rule) {
    return detail::require_op_tag<Op>::value && stdlib::is_same_v<Asked, Op> ? Rule : rule;
  }
};

/// One change to a policy: every op that followed `From` until here follows `To`.
template <CastRule From, CastRule To>
struct RuleOverride {
  template <class Asked>
  MEZZO_HOST_DEVICE static constexpr CastRule apply(CastRule rule) {
    return rule == From ? To : rule;
  }
};

namespace detail {

template <class Op, class... Changes>
MEZZO_HOST_DEVICE constexpr CastRule rule_after() {
  if constexpr (require_op_tag<Op>::value) {
    CastRule rule = Op::rule;
    ((rule = Changes::template apply<Op>(rule)), ...);
    return rule;
  } else {
    return CastRule::pass_through;
  }
}

}  // namespace detail

/// A policy: `Low` is the type that lower_precision ops run in, everything else comes from the op tags.
///
/// A policy is a type without state; it is used as a template argument and costs nothing at run time.
///
///     using Policy = Autocast<float16>;
///     using Tuned = Policy::with<op::softmax, CastRule::lower_precision>;   // one op differs
///     using Off = Policy::disabled;                                         // no autocast; Off::enabled leads back
///
/// @tparam Low     float16 or bfloat16; float for the float32 baseline; an 8-bit type for GEMM only.
/// @tparam Where   leave it; see `disabled`.
/// @tparam Changes leave them; see `with`.
template <class Low, Region Where = Region::enabled, class... Changes>
struct Autocast {
  static_assert(!stdlib::is_same_v<Low, double>,
    "Autocast<double>: double is no low type: autocast never casts to or from double. Use Autocast<float> for the float32 "
    "baseline, or pass doubles under any policy: they are left alone.");
  static_assert(Element<Low> || stdlib::is_same_v<Low, double>,
    "Autocast<Low>: Low must be one of float16, bfloat16, float, or float8_e4m3 and float8_e5m2 for GEMM.");

  /// The type that lower_precision ops run in.
  using low_type = Low;
  static constexpr bool is_enabled = Where == Region::enabled;

  /// The rule that `Op` follows here, when enabled.
  template <class Op>
  static constexpr CastRule rule = detail::rule_after<Op, Changes...>();

  /// This policy, but `Op` follows `Rule`. Of two overrides of one op the last wins; overriding a banned op lifts the ban.
  template <class Op, CastRule Rule>
  using with = Autocast<Low, Where, Changes..., Override<Op, Rule>>;

  /// This policy, but each of `Ops` follows `Rule`.
  template <CastRule Rule, class... Ops>
  using with_each = Autocast<Low, Where, Changes..., Override<Ops, Rule>...>;

  /// This policy, but every op that follows `From` here follows `To`.
  template <CastRule From, CastRule To>
  using with_rule = Autocast<Low, Where, Changes..., RuleOverride<From, To>>;

  /// The same overrides with another low type.
  template <class OtherLow>
  using with_low = Autocast<OtherLow, Where, Changes...>;

  /// A nested region without autocast, and back.
  using disabled = Autocast<Low, Region::disabled, Changes...>;
  using enabled = Autocast<Low, Region::enabled, Changes...>;
};

namespace detail {

/// Any tag, to ask a policy for a rule.
struct SomeOp {
  static constexpr const char* name = "some_op";
  static constexpr CastRule rule = CastRule::float32;
};

}  // namespace detail

/// What the library asks of a policy. `Autocast` models it, and so does a struct derived from one, or written by hand.
template <class P>
concept AutocastPolicy = requires(CastRule rule) {
  typename P::low_type;
  typename P::disabled;
  typename P::enabled;
  requires stdlib::is_same_v<stdlib::remove_cv_t<decltype(P::is_enabled)>, bool>;
  rule = P::template rule<detail::SomeOp>;
};

static_assert(AutocastPolicy<Autocast<float16>>);

/// `P::with<Op, Rule>` for generic code, where `P::template with<Op, Rule>` would be needed.
template <class P, class Op, CastRule Rule>
using with_t = typename P::template with<Op, Rule>;

/// `P::disabled` and `P::enabled` for generic code.
template <class P>
using disabled_t = typename P::disabled;
template <class P>
using enabled_t = typename P::enabled;

}  // namespace mezzo
