#pragma once
// Ops with a forward and a backward of their own; the backward always runs under the policy of its forward.

#include <mezzo/policy/call.hpp>

namespace mezzo {

namespace detail {

struct KeptTag {};

template <stdlib::size_t Index, class T>
struct KeptValue {
  T value;
};

template <class Indices, class... Kept>
struct KeptValues;
template <stdlib::size_t... Index, class... Kept>
struct KeptValues<stdlib::index_sequence<Index...>, Kept...> : KeptValue<Index, Kept>... {};

template <stdlib::size_t Index, class T>
MEZZO_HOST_DEVICE constexpr const T& kept_value(const KeptValue<Index, T>& kept) {
  return kept.value;
}
template <stdlib::size_t Index, class T>
MEZZO_HOST_DEVICE constexpr T&& kept_value(KeptValue<Index, T>&& kept) {
  return static_cast<T&&>(kept.value);
}

}  // namespace detail

/// What a forward keeps for its backward, and, in its type, the policy that both run under.
///
/// The values are read by structured binding (`const auto& [x, y] = context;`) or by `context.template get<0>()`.
/// @tparam P the policy that the forward ran under: the caller's, or its disabled form where the op has `cast_inputs`.
template <class P, class... Kept>
class Context {
 public:
  using policy = P;

  Context() requires(sizeof...(Kept) > 0) = delete;
  constexpr Context() requires(sizeof...(Kept) == 0) = default;
  template <class... Given>
    requires(sizeof...(Given) == sizeof...(Kept) && sizeof...(Kept) > 0)
  MEZZO_HOST_DEVICE constexpr explicit Context(detail::KeptTag, Given&&... given) : kept_{{static_cast<Given&&>(given)}...} {}

  template <stdlib::size_t Index>
  MEZZO_HOST_DEVICE constexpr const auto& get() const& {
    return detail::kept_value<Index>(kept_);
  }
  template <stdlib::size_t Index>
  MEZZO_HOST_DEVICE constexpr auto&& get() && {
    return detail::kept_value<Index>(static_cast<Values&&>(kept_));
  }

 private:
  using Values = detail::KeptValues<stdlib::make_index_sequence<sizeof...(Kept)>, Kept...>;
  Values kept_;
};

/// What a forward hands back through `saved`: its output and the values that its backward needs.
template <class Output, class... Kept>
struct Saved {
  Output output;
  detail::KeptValues<stdlib::make_index_sequence<sizeof...(Kept)>, Kept...> kept;
};

/// Ends a forward: `return saved(y, x);` returns `y` and keeps a copy of `x` (move it in to avoid the copy).
/// A span or pointer is kept as such: what it points to must live until the backward.
template <class Output, class... Kept>
MEZZO_HOST_DEVICE constexpr auto saved(Output&& output, Kept&&... kept) {
  return Saved<stdlib::remove_cvref_t<Output>, stdlib::remove_cvref_t<Kept>...>{
    static_cast<Output&&>(output), {{static_cast<Kept&&>(kept)}...}};
}

/// The context that `custom_fwd<P, Op>` returns. It also carries the op, so that another op's backward does not compile.
template <class Op, class P, class... Kept>
class OpContext : public Context<P, Kept...> {
 public:
  using op = Op;
  using Base = Context<P, Kept...>;
  using Base::Base;
};

/// Output and context of a forward: `auto [y, context] = custom_fwd<Policy, Op>(x);`
template <class Output, class C>
struct Forwarded {
  Output first;
  C second;
};

namespace detail {

/// `cast_inputs` casts floating types but double to `To`.
template <class To>
struct InputCaster {
  template <class T>
  using type = stdlib::conditional_t<Element<T> && !stdlib::is_same_v<T, double>, To, T>;
};
template <>
struct InputCaster<void> {
  template <class T>
  using type = T;
};

template <class Op>
MEZZO_HOST_DEVICE constexpr auto cast_inputs_of() {
  if constexpr (requires { typename Op::cast_inputs; }) {
    return stdlib::type_identity<typename Op::cast_inputs>{};
  } else {
    return stdlib::type_identity<void>{};
  }
}

template <class Op>
inline constexpr bool names_cast_inputs = requires { typename Op::cast_inputs; };

/// True for at most one floating type.
template <class List>
inline constexpr bool same_floats = true;
template <class... Types>
inline constexpr bool same_floats<TypeList<Types...>> =
  ((0U | ... | float_bit<Types>) & ((0U | ... | float_bit<Types>) - 1U)) == 0;

template <class T>
inline constexpr bool is_saved = false;
template <class Output, class... Kept>
inline constexpr bool is_saved<Saved<Output, Kept...>> = true;

template <class Op, class P, class Output, class... Kept, stdlib::size_t... Index>
MEZZO_HOST_DEVICE constexpr auto with_context(Saved<Output, Kept...>&& result, stdlib::index_sequence<Index...>) {
  using C = OpContext<Op, P, Kept...>;
  if constexpr (sizeof...(Kept) == 0) {
    return Forwarded<Output, C>{static_cast<Output&&>(result.output), C()};
  } else {
    using Values = decltype(result.kept);
    return Forwarded<Output, C>{
      static_cast<Output&&>(result.output), C(KeptTag{}, kept_value<Index>(static_cast<Values&&>(result.kept))...)};
  }
}
template <class Op, class P, class Output, class... Kept>
MEZZO_HOST_DEVICE constexpr auto with_context(Saved<Output, Kept...>&& result) {
  return with_context<Op, P>(static_cast<Saved<Output, Kept...>&&>(result), stdlib::make_index_sequence<sizeof...(Kept)>{});
}

template <class T>
inline constexpr bool is_op_context = false;
template <class Op, class P, class... Kept>
inline constexpr bool is_op_context<OpContext<Op, P, Kept...>> = true;

}  // namespace detail

/// Runs `Op::forward` and returns its output and a context for `custom_bwd`: `auto [y, context] = custom_fwd<Policy, Op>(x);`
///
/// `Op::forward(Context<P>, args...)` returns its output alone, or `saved(output, kept...)`.
/// With `using cast_inputs = float;` (or float16, bfloat16) in `Op`, floating arguments but doubles are cast to it, also inside
/// tuples, pairs, arrays and optionals, and `P` is `Policy::disabled`. Without it they are passed as they are and `P` is
/// `Policy`; different floating types are then refused, unless the op says `using cast_inputs = void;`. In a disabled region
/// nothing is cast or refused.
/// Source: torch.amp.custom_fwd, which passes mixed types silently.
MEZZO_EXEC_CHECK_DISABLE
template <class Policy, class Op, class... Args>
MEZZO_HOST_DEVICE constexpr auto custom_fwd(Args&&... args) {
  constexpr bool is_policy = AutocastPolicy<Policy>;
  static_assert(is_policy, "custom_fwd<Policy, Op>: the first template argument must be a policy, such as Autocast<float16>.");
  if constexpr (is_policy) {
    using CastInputs = typename decltype(detail::cast_inputs_of<Op>())::type;
    static_assert(stdlib::is_void_v<CastInputs> || stdlib::is_same_v<CastInputs, float> || SixteenBit<CastInputs>,
      "custom_fwd: cast_inputs must be float, float16 or bfloat16; void passes mixed types as they are. Nothing is cast to "
      "double, or to 8 bits without a scale.");
    constexpr bool casts = Policy::is_enabled && !stdlib::is_void_v<CastInputs>;
    constexpr bool uniform = detail::same_floats<detail::elements_of_all_t<Args...>>;
    static_assert(uniform || !Policy::is_enabled || detail::names_cast_inputs<Op>,
      "custom_fwd: the arguments have different floating types and the op does not say what to cast them to. Write using "
      "cast_inputs = float; in the op, or using cast_inputs = void; where its forward takes mixed types.");
    using P = stdlib::conditional_t<casts, typename Policy::disabled, Policy>;
    using Caster = detail::InputCaster<stdlib::conditional_t<casts, CastInputs, void>>;
    constexpr bool callable = requires {
      Op::forward(Context<P>{}, detail::cast_argument<Caster>(static_cast<Args&&>(args))...);
    };
    static_assert(callable,
      "custom_fwd: Op::forward(Context<P>, args...) must take the context first and then these arguments, cast as cast_inputs "
      "says. P is Policy, or Policy::disabled where the op has cast_inputs.");
    if constexpr (callable) {
      auto result = Op::forward(Context<P>{}, detail::cast_argument<Caster>(static_cast<Args&&>(args))...);
      if constexpr (detail::is_saved<decltype(result)>) {
        return detail::with_context<Op, P>(static_cast<decltype(result)&&>(result));
      } else {
        return Forwarded<decltype(result), OpContext<Op, P>>{static_cast<decltype(result)&&>(result), OpContext<Op, P>()};
      }
    }
  }
}

/// Outside any region: nothing is cast, and the backward runs outside too.
MEZZO_EXEC_CHECK_DISABLE
template <class Op, class... Args>
  requires(!AutocastPolicy<Op>)
MEZZO_HOST_DEVICE constexpr auto custom_fwd(Args&&... args) {
  return custom_fwd<Autocast<float>::disabled, Op>(static_cast<Args&&>(args)...);
}

/// Runs `Op::backward(context, grads...)`; `grads` are passed as they are.
///
/// `context` comes from `custom_fwd<..., Op>`, and its type names the policy: the backward cannot run under another one.
/// Source: torch.amp.custom_bwd.
MEZZO_EXEC_CHECK_DISABLE
template <class Op, class C, class... Grads>
MEZZO_HOST_DEVICE constexpr decltype(auto) custom_bwd(const C& context, Grads&&... grads) {
  static_assert(detail::is_op_context<C>,
    "custom_bwd<Op>(context, grads...): the context must be the one that custom_fwd<Policy, Op> returned: it carries the policy "
    "and what the forward saved.");
  if constexpr (detail::is_op_context<C>) {
    constexpr bool same_op = stdlib::is_same_v<typename C::op, Op>;
    static_assert(same_op,
      "custom_bwd<Op>(context, grads...): the context was made by another op's forward. Name the op that custom_fwd "
      "was called with.");
    if constexpr (same_op) {
      using Base = typename C::Base;
      constexpr bool callable = requires { Op::backward(static_cast<const Base&>(context), static_cast<Grads&&>(grads)...); };
      static_assert(callable,
        "custom_bwd: Op::backward(const Context<P, Kept...>&, grads...) must take the context of its own forward, the same "
        "policy and the saved values, and then these gradients. Leave P a template parameter.");
      if constexpr (callable) {
        return Op::backward(static_cast<const Base&>(context), static_cast<Grads&&>(grads)...);
      }
    }
  }
}

/// Refused: a policy named here could differ from the forward's.
template <class Policy, class Op, class C, class... Grads>
  requires AutocastPolicy<Policy>
MEZZO_HOST_DEVICE constexpr auto custom_bwd(const C&, Grads&&...) {
  static_assert(sizeof(C) == 0,
    "custom_bwd<Op>(context, grads...): name the op alone. The backward runs under the policy of its forward, which the "
    "context's type carries.");
}

}  // namespace mezzo

// Structured bindings look for these. NVRTC's std has no general form for const types.
template <class P, class... Kept>
struct std::tuple_size<mezzo::Context<P, Kept...>> : mezzo::stdlib::integral_constant<mezzo::stdlib::size_t, sizeof...(Kept)> {};
template <mezzo::stdlib::size_t Index, class P, class... Kept>
struct std::tuple_element<Index, mezzo::Context<P, Kept...>> {
  using Value = decltype(mezzo::stdlib::declval<const mezzo::Context<P, Kept...>&>().template get<Index>());
  using type = mezzo::stdlib::remove_cvref_t<Value>;
};
#ifdef __CUDACC_RTC__
template <class P, class... Kept>
struct std::tuple_size<const mezzo::Context<P, Kept...>> : std::tuple_size<mezzo::Context<P, Kept...>> {};
template <mezzo::stdlib::size_t Index, class P, class... Kept>
struct std::tuple_element<Index, const mezzo::Context<P, Kept...>> {
  using type = const typename std::tuple_element<Index, mezzo::Context<P, Kept...>>::type;
};
#endif
