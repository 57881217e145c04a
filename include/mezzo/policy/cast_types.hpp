#pragma once
// The types of a call: what each argument is read as, what the op computes in, what it returns.

#include <mezzo/policy/autocast.hpp>
#include <mezzo/policy/detail/elements.hpp>

namespace mezzo {

namespace detail {

/// The floating types as bits of a set; `no_float` stands for integers and bools.
enum Float : unsigned { no_float = 0, e4m3 = 1, e5m2 = 2, f16 = 4, bf16 = 8, f32 = 16, f64 = 32 };

template <class T>
inline constexpr Float float_bit = no_float;
template <>
inline constexpr Float float_bit<float8_e4m3> = e4m3;
template <>
inline constexpr Float float_bit<float8_e5m2> = e5m2;
template <>
inline constexpr Float float_bit<float16> = f16;
template <>
inline constexpr Float float_bit<bfloat16> = bf16;
template <>
inline constexpr Float float_bit<float> = f32;
template <>
inline constexpr Float float_bit<double> = f64;

/// The type of a bit; `Otherwise` for none.
template <Float Bit, class Otherwise>
struct TypeOf {
  using type = Otherwise;
};
template <class Otherwise>
struct TypeOf<e4m3, Otherwise> {
  using type = float8_e4m3;
};
template <class Otherwise>
struct TypeOf<e5m2, Otherwise> {
  using type = float8_e5m2;
};
template <class Otherwise>
struct TypeOf<f16, Otherwise> {
  using type = float16;
};
template <class Otherwise>
struct TypeOf<bf16, Otherwise> {
  using type = bfloat16;
};
template <class Otherwise>
struct TypeOf<f32, Otherwise> {
  using type = float;
};
template <class Otherwise>
struct TypeOf<f64, Otherwise> {
  using type = double;
};

MEZZO_HOST_DEVICE constexpr bool is_eight_bit(Float type) { return type == e4m3 || type == e5m2; }

/// The widest type of a set. Decided on the whole set, so that no order of the arguments matters.
/// @param mixed8 what two different 8-bit types become.
MEZZO_HOST_DEVICE constexpr Float widest(unsigned set, Float mixed8) {
  if ((set & f64) != 0) return f64;
  if ((set & f32) != 0 || (set & (f16 | bf16)) == (f16 | bf16)) return f32;
  if ((set & f16) != 0) return f16;
  if ((set & bf16) != 0) return bf16;
  return set == (e4m3 | e5m2) ? mixed8 : static_cast<Float>(set);
}

/// What one call is about: the policy's part and the set of its floating types.
struct CallFacts {
  CastRule rule;
  bool enabled;
  Float low;
  unsigned set;

  /// Whether the op's rule says anything: not in a disabled region, with a double or without a floating argument.
  MEZZO_HOST_DEVICE constexpr bool active() const { return enabled && set != no_float && (set & f64) == 0; }

  MEZZO_HOST_DEVICE constexpr Float compute() const {
    if (!active()) return widest(set, f32);
    switch (rule) {
      case CastRule::lower_precision: return low;
      case CastRule::pass_through: return widest(set, low);
      case CastRule::promote: {
        const Float join = widest(set, low);
        return is_eight_bit(join) || low == f32 ? low : join;
      }
      default: return f32;  // float32, float32_output, and a banned op under the float32 baseline
    }
  }
  /// @param first type of the call's first argument.
  MEZZO_HOST_DEVICE constexpr Float result(Float first) const {
    if (active() && rule == CastRule::pass_through) return first;
    return active() && is_eight_bit(compute()) ? f32 : compute();  // the accumulator: nothing is cast to 8 bits without a scale
  }
  /// @param own type of the argument asked about.
  MEZZO_HOST_DEVICE constexpr Float argument(Float own) const {
    if (!active() || own == no_float || rule == CastRule::pass_through || rule == CastRule::float32_output) return own;
    return rule == CastRule::promote && set == own && is_eight_bit(own) ? own : compute();  // 8 bits alone are read as they are
  }
};

template <class Op, class = void>
struct FixedResult {
  template <class Otherwise>
  using type = Otherwise;
};
template <class Op>
struct FixedResult<Op, stdlib::void_t<typename Op::result_type>> {
  template <class>
  using type = typename Op::result_type;
};

template <class Op>
MEZZO_HOST_DEVICE constexpr bool op_is_gemm() {
  if constexpr (requires { Op::is_gemm; }) {
    return Op::is_gemm;
  } else {
    return false;
  }
}

/// Refuses unless `Allowed`, with the tag's own sentence where it has one.
template <class Op, bool Allowed>
MEZZO_HOST_DEVICE constexpr bool check_ban() {
  if constexpr (requires { Op::template allow<Allowed>(); }) {
    Op::template allow<Allowed>();
  } else {
    static_assert(Allowed,
      "this op is banned under a low-precision policy: its results or gradients do not fit in 16 bits. Use the safe op that "
      "its tag names, call it under Policy::disabled with float arguments, or lift the ban with Policy::with<Op, CastRule::float32>.");
  }
  return Allowed;
}

/// The refusals: one sentence each, and `passes` so that nothing else is said after one.
template <class Policy, class Op, bool HasArguments>
struct CallCheck {
  static constexpr bool is_policy = AutocastPolicy<Policy>;
  static_assert(is_policy,
    "the first template argument must be a policy. Write Autocast<float16>, Autocast<bfloat16> or Autocast<float>, or a type "
    "with their members (mezzo/policy/autocast.hpp).");
  static_assert(HasArguments,
    "the types of a call need at least one argument with an element type: no rule says what an op without one computes in.");

  MEZZO_HOST_DEVICE static constexpr bool check_op() {
    if constexpr (is_policy && require_op_tag<Op>::value) {
      using Low = typename Policy::low_type;
      constexpr bool banned =
        Policy::is_enabled && !stdlib::is_same_v<Low, float> && Policy::template rule<Op> == CastRule::banned;
      constexpr bool only_gemm = Policy::is_enabled && EightBit<Low> && !op_is_gemm<Op>();
      static_assert(!only_gemm,
        "an 8-bit low type is for GEMM only: no other op is accurate with 3 or 2 fraction bits. Use Autocast<float16> or "
        "Autocast<bfloat16> here, and name the 8-bit policy at the GEMM calls.");
      return check_ban<Op, !banned>() && !only_gemm;
    } else {
      return false;
    }
  }
  static constexpr bool passes = check_op() && HasArguments;
};

template <class Policy, class Op, class First, class... Rest>
struct Call {
  static constexpr CallFacts facts{Policy::is_enabled ? Policy::template rule<Op> : CastRule::pass_through, Policy::is_enabled,
                                   float_bit<typename Policy::low_type>, (float_bit<First> | ... | float_bit<Rest>)};
  static constexpr bool active = facts.active();
  static constexpr CastRule rule = facts.rule;

  MEZZO_HOST_DEVICE static constexpr auto common() {
    if constexpr (facts.set == no_float) {
      return stdlib::type_identity<promote_t<First, Rest...>>{};
    } else {
      return stdlib::type_identity<First>{};
    }
  }
  using Common = typename decltype(common())::type;
  using compute_type = typename TypeOf<facts.compute(), Common>::type;
  using result_type =
    typename FixedResult<Op>::template type<typename TypeOf<facts.result(float_bit<First>), Common>::type>;

  /// What one element of type `T` is read as.
  template <class T>
  using argument = typename TypeOf<facts.argument(float_bit<T>), T>::type;
};

/// Stands in after a refusal.
struct RefusedCall {
  using compute_type = float;
  using result_type = float;
  template <class T>
  using argument = T;
  static constexpr bool active = false;
  static constexpr CastRule rule = CastRule::pass_through;
};

template <class Policy, class Op, class List>
struct CallOfList;
template <class Policy, class Op, class... Elements>
struct CallOfList<Policy, Op, TypeList<Elements...>> {
  MEZZO_HOST_DEVICE static constexpr auto choose() {
    if constexpr (CallCheck<Policy, Op, (sizeof...(Elements) > 0)>::passes) {
      return stdlib::type_identity<Call<Policy, Op, Elements...>>{};
    } else {
      return stdlib::type_identity<RefusedCall>{};
    }
  }
  using type = typename decltype(choose())::type;
};

/// The call of `Op` with these arguments, whatever shape they have.
template <class Policy, class Op, class... Args>
using call_t = typename CallOfList<Policy, Op, elements_of_all_t<Args...>>::type;

template <class List>
struct OnlyElement {
  static_assert(sizeof(List) == 0,
    "argument_type_t: the argument asked about must hold elements of exactly one type. Ask about each "
    "member of a tuple by itself.");
};
template <class T>
struct OnlyElement<TypeList<T>> {
  using type = T;
};

}  // namespace detail

/// The type that `Op` computes in under `Policy`, called with arguments of these types.
///
/// Arguments are element types, or what holds them: spans, pointers, mdspans, optionals, tuples. Optional arguments count,
/// given or not. Integers do not widen a floating type; without any floating argument it is the common type.
template <class Policy, class Op, class... Args>
using compute_type_t = typename detail::call_t<Policy, Op, Args...>::compute_type;

/// The type that the elements of `Arg` are read as, in a call with `Arg` and `Others` in any order.
template <class Policy, class Op, class Arg, class... Others>
using argument_type_t = typename detail::call_t<Policy, Op, Arg, Others...>::template argument<
  typename detail::OnlyElement<detail::elements_of_all_t<Arg>>::type>;

/// The type that `Op` returns under `Policy`.
template <class Policy, class Op, class... Args>
using result_type_t = typename detail::call_t<Policy, Op, Args...>::result_type;

}  // namespace mezzo
