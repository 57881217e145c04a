#pragma once
// Calls a function with its arguments cast as the op's rule asks.

#include <mezzo/numeric/convert.hpp>
#include <mezzo/policy/cast_types.hpp>

namespace mezzo {

namespace detail {

template <class T, class To>
struct Rebound;  // a container of values, its values replaced
template <template <class...> class Container, class... Old, class... New>
struct Rebound<Container<Old...>, TypeList<New...>> {
  using identity = stdlib::type_identity<Container<New...>>;
};
template <template <class, stdlib::size_t> class Array, class Old, stdlib::size_t N, class New, class... Same>
struct Rebound<Array<Old, N>, TypeList<New, Same...>> {
  using identity = stdlib::type_identity<Array<New, N>>;
};

MEZZO_EXEC_CHECK_DISABLE
template <stdlib::size_t Index, class Tuple>
MEZZO_HOST_DEVICE constexpr decltype(auto) member(Tuple&& tuple) {
  if constexpr (requires { tuple.template get<Index>(); }) {
    return static_cast<Tuple&&>(tuple).template get<Index>();
  } else {
    return get<Index>(static_cast<Tuple&&>(tuple));  // found beside the tuple
  }
}

/// The shape of an argument after the cast; `Caster::type<T>` is what a value of type `T` becomes.
template <class Caster, class T>
MEZZO_HOST_DEVICE constexpr auto cast_shape() {
  using V = stdlib::remove_cvref_t<T>;
  if constexpr (Element<typename Unscaled<V>::type>) {
    return stdlib::type_identity<typename Caster::template type<typename Unscaled<V>::type>>{};
  } else if constexpr (TupleLike<V>) {
    return []<stdlib::size_t... Index>(stdlib::index_sequence<Index...>) {
      return typename Rebound<
        V, TypeList<typename decltype(cast_shape<Caster, tuple_element_t<Index, V>>())::type...>>::identity{};
    }(stdlib::make_index_sequence<tuple_size<V>::value>{});
  } else if constexpr (OptionalLike<V>) {
    using Inner = typename decltype(cast_shape<Caster, typename V::value_type>())::type;
    return typename Rebound<V, TypeList<Inner>>::identity{};
  } else {
    return stdlib::type_identity<T>{};
  }
}

/// True where every element type in the list stays what it is.
template <class Caster, class List>
inline constexpr bool keeps = true;
template <class Caster, class... Types>
inline constexpr bool keeps<Caster, TypeList<Types...>> =
  (stdlib::is_same_v<typename Caster::template type<Types>, Types> && ...);

template <class Caster, class Arg>
MEZZO_HOST_DEVICE constexpr decltype(auto) cast_argument(Arg&& arg);

MEZZO_EXEC_CHECK_DISABLE
template <class Caster, class To, class Tuple, stdlib::size_t... Index>
MEZZO_HOST_DEVICE constexpr To cast_members(Tuple&& tuple, stdlib::index_sequence<Index...>) {
  return To{cast_argument<Caster>(member<Index>(static_cast<Tuple&&>(tuple)))...};
}

/// The argument as the function receives it: itself where nothing changes, a converted copy otherwise.
MEZZO_EXEC_CHECK_DISABLE
template <class Caster, class Arg>
MEZZO_HOST_DEVICE constexpr decltype(auto) cast_argument(Arg&& arg) {
  using V = stdlib::remove_cvref_t<Arg>;
  if constexpr (is_scaled<V>) {
    using T = typename Unscaled<V>::type;
    static_assert(Element<T>,
      "autocast: data with a scale is not cast behind your back. Pass argument_view<Policy, Op>(with_scale(data, scale)), which "
      "scales and converts each element as it is loaded (mezzo/policy/view.hpp).");
    return Factor{arg.scale}.template apply<typename Caster::template type<T>>(T(arg.value));
  } else if constexpr (keeps<Caster, elements_of_all_t<V>>) {
    return static_cast<Arg&&>(arg);
  } else if constexpr (Element<V>) {
    using To = typename Caster::template type<V>;
    static_assert(!EightBit<To>,
      "autocast: nothing is cast to an 8-bit type without a scale. Pass with_scale(x, scale), and divide the op's sums by the "
      "scales (mezzo/policy/scaled.hpp).");
    return convert<To>(V(arg));
  } else if constexpr (TupleLike<V>) {
    using To = typename decltype(cast_shape<Caster, V>())::type;
    return cast_members<Caster, To>(static_cast<Arg&&>(arg), stdlib::make_index_sequence<tuple_size<V>::value>{});
  } else if constexpr (OptionalLike<V>) {
    using To = typename decltype(cast_shape<Caster, V>())::type;
    return arg.has_value() ? To(cast_argument<Caster>(*static_cast<Arg&&>(arg))) : To();
  } else if constexpr (ValueProxy<V>) {
    return convert<typename Caster::template type<typename V::value_type>>(static_cast<typename V::value_type>(arg));
  } else {
    static_assert(!NumberData<V> && !DataList<V>,
      "autocast: the elements of this span or pointer have another type than the op reads under this policy, and data is never "
      "cast behind your back. Pass argument_view<Policy, Op>(data), which converts each element as it is loaded "
      "(mezzo/policy/view.hpp), or store the data in argument_type_t<Policy, Op, T>. For the cast_inputs of custom_fwd: "
      "convert_view<T>(data).");
    return static_cast<Arg&&>(arg);
  }
}

template <class Call>
struct ArgumentCaster {
  template <class T>
  using type = typename Call::template argument<T>;
};

}  // namespace detail

/// Which part of an op a counted call was.
enum class TracedPass : stdlib::uint8_t { forward, backward, data_gradient, weight_gradient, bias_gradient };

namespace detail {

MEZZO_EXEC_CHECK_DISABLE
template <class Policy, class Op, TracedPass Pass, class Result, class... Args>
MEZZO_HOST_DEVICE constexpr void trace(stdlib::type_identity<Result(Args...)>) {
#ifndef __CUDA_ARCH__
  if constexpr (requires { Policy::template ran<Op, Pass, Result, Args...>(); }) {
    if (!__builtin_is_constant_evaluated()) Policy::template ran<Op, Pass, Result, Args...>();
  }
#endif
}

}  // namespace detail

/// Tells a policy that counts its calls (Traced) that `Op` ran with arguments of these types and returned what its rule says;
/// nothing for any other policy. An op that does not go through `autocast` says it once a call, when it has run.
template <class Policy, class Op, class... Args>
MEZZO_HOST_DEVICE constexpr void trace_call() {
  detail::trace<Policy, Op, TracedPass::forward>(stdlib::type_identity<void(Args...)>{});
}

/// The same for an op that says itself what it wrote, from what: element types as a function's,
///
///     trace_call<Policy, op::conv2d, TracedPass::weight_gradient, float(float16, float16)>();
template <class Policy, class Op, TracedPass Pass, class Types>
MEZZO_HOST_DEVICE constexpr void trace_call() {
  static_assert(stdlib::is_function_v<Types>,
    "trace_call<Policy, Op, Pass, Types>: Types must be what the op wrote and what it read, as a function's: float(float16, float16).");
  if constexpr (stdlib::is_function_v<Types>) detail::trace<Policy, Op, Pass>(stdlib::type_identity<Types>{});
}

/// Calls `f` with `args` cast as the rule of `Op` under `Policy` asks, and casts what it returns to the result type.
///
/// Values of element types are converted, also inside tuples, pairs, arrays and optionals; integers, bools and everything
/// that holds no numbers is forwarded as it is. A span, mdspan or pointer whose elements would need a cast is refused.
/// The result is converted where it is of an element type and the rule is at work: not under pass_through, in a disabled
/// region, with a double or without a floating argument.
///
/// @param f    called once, with as many arguments as are given here.
/// @param args at least one that holds elements.
/// Source: torch.amp's autocast dispatch, decided by the compiler: the machine code is that of the call with casts written
/// by hand.
MEZZO_EXEC_CHECK_DISABLE
template <class Policy, class Op, class F, class... Args>
MEZZO_HOST_DEVICE constexpr decltype(auto) autocast(F&& f, Args&&... args) {
  using Call = detail::call_t<Policy, Op, Args...>;
  using Caster = detail::ArgumentCaster<Call>;
  constexpr bool callable = requires { static_cast<F&&>(f)(detail::cast_argument<Caster>(static_cast<Args&&>(args))...); };
  static_assert(callable || stdlib::is_same_v<Call, detail::RefusedCall>,
    "autocast: the function cannot be called with these arguments. It takes as many as are given to autocast, each in the type "
    "that the op reads it as under this policy: argument_type_t<Policy, Op, Arg, Others...>, or auto.");
  if constexpr (callable) {
    using Returned = decltype(static_cast<F&&>(f)(detail::cast_argument<Caster>(static_cast<Args&&>(args))...));
    using Result = typename Call::result_type;
    using Value = stdlib::remove_cvref_t<Returned>;
    trace_call<Policy, Op, Args...>();
    constexpr bool casts_result = Call::active && Call::rule != CastRule::pass_through && Element<Value> && Element<Result>;
    if constexpr (casts_result) {
      return convert<Result>(Value(static_cast<F&&>(f)(detail::cast_argument<Caster>(static_cast<Args&&>(args))...)));
    } else if constexpr (Element<Value>) {  // by value: a reference might be to a converted argument
      return Value(static_cast<F&&>(f)(detail::cast_argument<Caster>(static_cast<Args&&>(args))...));
    } else {
      return static_cast<F&&>(f)(detail::cast_argument<Caster>(static_cast<Args&&>(args))...);
    }
  }
}

}  // namespace mezzo
