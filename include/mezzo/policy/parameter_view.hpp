#pragma once
// The view of a parameter that an op's rule asks for: the model's copy for low precision, the master where the op reads float.

#include <mezzo/policy/view.hpp>

namespace mezzo {

namespace detail {

/// A parameter whose element types are known at compile time: members model and master, contiguous ranges.
template <class P>
concept TypedParameter = requires(P& p) {
  requires StoredRange<decltype(p.model)>;
  requires StoredRange<decltype(p.master)>;
};

/// A parameter that keeps its model's element type as a value, such as MasterOptimizer's.
template <class P>
concept RunTimeParameter = requires(P& p) {
  p.model.type();
  p.model.data();
  p.model.size();
};

template <class T>
struct LowOfParameter;
template <template <class> class P, class Low>
struct LowOfParameter<P<Low>> {
  using type = Low;
};

}  // namespace detail

/// What `Op` reads of a parameter under `Policy`.
///
/// Where the op reads float and the parameter has a master, that is the master itself: nothing is converted and no bits are
/// lost. Otherwise it is the model's copy, converted as it is loaded where the types differ.
/// @param parameter any struct with members `model` and `master`, ranges of [n] elements; an empty master is none.
template <class Policy, class Op, class... Others, detail::TypedParameter P>
constexpr auto argument_view(const P& parameter) {
  using Model = detail::data_element_t<stdlib::remove_cvref_t<decltype(parameter.model)>>;
  using Master = detail::data_element_t<stdlib::remove_cvref_t<decltype(parameter.master)>>;
  using T = argument_type_t<Policy, Op, Model, Others...>;
  if constexpr (stdlib::is_same_v<T, Master> && !stdlib::is_same_v<T, Model>) {
    return ConvertingView<T, const Master>(
      detail::plain_pointer(parameter.master.data()), static_cast<stdlib::size_t>(parameter.master.size()));
  } else {
    return argument_view<Policy, Op, Others...>(parameter.model);
  }
}

/// The same for a parameter that keeps its element type as a value: calls `f` with the view, whose type depends on it.
///
///     visit_argument<Policy, op::linear>(optimizer.parameter(0), [&](auto w) { my_kernel<<<blocks, threads>>>(w, x, y); });
///
/// @param parameter a MasterOptimizer's parameter: model of its low type or float, master perhaps empty.
/// @param f         called once, with one of two view types; both calls must return the same type.
template <class Policy, class Op, class... Others, detail::RunTimeParameter P, class F>
constexpr decltype(auto) visit_argument(const P& parameter, F&& f) {
  using Low = typename detail::LowOfParameter<P>::type;
  using T = argument_type_t<Policy, Op, Low, Others...>;
  using ReadAsFloat = argument_type_t<Policy, Op, float, Others...>;
  const auto size = static_cast<stdlib::size_t>(parameter.model.size());
  if (parameter.model.type() == element_type_of<float>) {
    return f(ConvertingView<ReadAsFloat, const float>(static_cast<const float*>(parameter.model.data()), size));
  }
  if constexpr (stdlib::is_same_v<T, float> && stdlib::is_same_v<ReadAsFloat, float>) {
    if (parameter.master.data() != nullptr) {
      return f(ConvertingView<float, const float>(static_cast<const float*>(parameter.master.data()), size));
    }
  }
  return f(ConvertingView<T, const Low>(static_cast<const Low*>(parameter.model.data()), size));
}

}  // namespace mezzo
