#pragma once
// The types of a call: what each argument is read as, what the op computes in, what it returns.

#include <mezzo/policy/autocast.hpp>
#include <mezzo/policy/detail/elements.hpp>

namespace mezzo {

namespace detail {

/// The floating types of a call as a set.
enum Float : unsigned { none = 0, e4m3 = 1, e5m2 = 2, f16 = 4, bf16 = 8, f32 = 16, f64 = 32 };

template <class T>
inline constexpr unsigned float_bit = none;
template <>
inline constexpr unsigned float_bit<float8_e4m3> = e4m3;
template <>
inline constexpr unsigned float_bit<float8_e5m2> = e5m2;
template <>
inline constexpr unsigned float_bit<float16> = f16;
template <>
inline constexpr unsigned float_bit<bfloat16> = bf16;
template <>
inline constexpr unsigned float_bit<float> = f32;
template <>
inline constexpr unsigned float_bit<double> = f64;

/// The widest type of the set. Independent of order: it is decided on the whole set, not pair by pair.
/// @tparam Mixed8 what two different 8-bit types become.
template <unsigned Set, class Mixed8>
constexpr auto widest() {
  if constexpr ((Set & f64) != 0) {
    return stdlib::type_identity<double>{};
  } else if constexpr ((Set & f32) != 0 || (Set & (f16 | bf16)) == (f16 | bf16)) {
    return stdlib::type_identity<float>{};
  } else if constexpr ((Set & f16) != 0) {
    return stdlib::type_identity<float16>{};
  } else if constexpr ((Set & bf16) != 0) {
    return stdlib::type_identity<bfloat16>{};
  } else if constexpr (Set == (e4m3 | e5m2)) {
    return stdlib::type_identity<Mixed8>{};
  } else if constexpr (Set == e4m3) {
    return stdlib::type_identity<float8_e4m3>{};
  } else {
    return stdlib::type_identity<float8_e5m2>{};
  }
}

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
constexpr bool op_is_gemm() {
  if constexpr (requires { Op::is_gemm; }) {
    return Op::is_gemm;
  } else {
    return false;
  }
}

/// Refuses unless `Allowed`, with the tag's own sentence where it has one.
template <class Op, bool Allowed>
constexpr bool check_ban() {
  if constexpr (requires { Op::template allow<Allowed>(); }) {
    Op::template allow<Allowed>();
  } else {
    static_assert(Allowed,
      "this op is banned under a low-precision policy: its results or gradients do not fit in 16 bits. Use the safe op that its tag "
      "names, call it under Policy::disabled with float arguments, or lift the ban with Policy::with<Op, CastRule::float32>.");
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

  static constexpr bool check_op() {
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

template <class Policy, class Op, class... Elements>
struct Call {
  using low = typename Policy::low_type;
  static constexpr bool enabled = Policy::is_enabled;
  static constexpr unsigned floats = (0U | ... | float_bit<Elements>);
  static constexpr bool has_double = (floats & f64) != 0;
  /// Whether the op's rule says anything about this call.
  static constexpr bool active = enabled && floats != none && !has_double;
  static constexpr CastRule rule = enabled ? Policy::template rule<Op> : CastRule::pass_through;

  template <class... All>
  static constexpr auto compute() {
    if constexpr (floats == none) {
      return stdlib::type_identity<promote_t<All...>>{};
    } else if constexpr (has_double) {
      return stdlib::type_identity<double>{};
    } else if constexpr (!enabled) {
      return widest<floats, float>();
    } else if constexpr (rule == CastRule::lower_precision) {
      return stdlib::type_identity<low>{};
    } else if constexpr (rule == CastRule::pass_through) {
      return widest<floats, low>();
    } else if constexpr (rule == CastRule::promote) {
      using Widest = typename decltype(widest<floats, low>())::type;
      constexpr bool below_low = EightBit<Widest> || stdlib::is_same_v<low, float>;
      return stdlib::type_identity<stdlib::conditional_t<below_low, low, Widest>>{};
    } else {  // float32, float32_output, and a banned op under the float32 baseline
      return stdlib::type_identity<float>{};
    }
  }
  using compute_type = typename decltype(compute<Elements...>())::type;

  template <class First, class...>
  struct FirstOf {
    using type = First;
  };
  static constexpr auto result() {
    if constexpr (active && rule == CastRule::pass_through) {
      return FirstOf<Elements...>{};
    } else if constexpr (active && EightBit<compute_type>) {
      return stdlib::type_identity<float>{};  // the accumulator: nothing is cast to 8 bits without a scale
    } else {
      return stdlib::type_identity<compute_type>{};
    }
  }
  using by_rule = typename decltype(result())::type;
  using result_type = typename FixedResult<Op>::template type<by_rule>;

  /// What one element of type `T` is read as.
  template <class T>
  static constexpr auto argument_of() {
    constexpr bool eligible = active && float_bit<T> != none;
    if constexpr (!eligible || rule == CastRule::pass_through || rule == CastRule::float32_output) {
      return stdlib::type_identity<T>{};
    } else if constexpr (rule == CastRule::promote && floats == float_bit<T> && EightBit<T>) {
      return stdlib::type_identity<T>{};  // 8-bit arguments of one type are read as they are
    } else {
      return stdlib::type_identity<compute_type>{};
    }
  }
  template <class T>
  using argument = typename decltype(argument_of<T>())::type;
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
  static constexpr auto choose() {
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
    "argument_type_t: the argument asked about must hold elements of exactly one type. Ask about each member of a tuple by itself.");
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
