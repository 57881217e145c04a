#pragma once
// The view of a parameter that an op's rule asks for: the model's copy for low precision, the master where the op reads float.

#include <source_location>

#include <mezzo/core/error.hpp>
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
/// Where the op reads float and the master is float, that is the master itself: nothing is converted and no bits are lost.
/// Otherwise it is the model's copy, converted as it is loaded where the types differ.
/// @param parameter any struct with members `model` and `master`, ranges of [n] elements each.
/// @throws InvalidArgument when the master has another size than the model; parameters that may have none: visit_argument.
template <class Policy, class Op, class... Others, detail::TypedParameter P>
constexpr auto argument_view(const P& parameter, const std::source_location& where = std::source_location::current()) {
  using Model = detail::data_element_t<stdlib::remove_cvref_t<decltype(parameter.model)>>;
  using Master = detail::data_element_t<stdlib::remove_cvref_t<decltype(parameter.master)>>;
  using T = argument_type_t<Policy, Op, Model, Others...>;
  if constexpr (stdlib::is_same_v<T, Master> && !stdlib::is_same_v<T, Model>) {
    const auto master = detail::storage_of(parameter.master);
    const stdlib::size_t size = detail::storage_of(parameter.model).size;
    if (master.size != size) {
      fail<InvalidArgument>(where, "argument_view", "the master must have the model's ", size, " elements, got ", master.size);
    }
    return ConvertingView<T, const Master>(master.data, size);
  } else {
    return argument_view<Policy, Op, Others...>(parameter.model);
  }
}

/// The same where the master may be empty: calls `f` with the view of the master or of the model, and returns what it returns.
template <class Policy, class Op, class... Others, detail::TypedParameter P, class F>
constexpr decltype(auto) visit_argument(
  const P& parameter, F&& f, const std::source_location& where = std::source_location::current()) {
  if (detail::storage_of(parameter.master).size == 0) return f(argument_view<Policy, Op, Others...>(parameter.model));
  return f(argument_view<Policy, Op, Others...>(parameter, where));
}

namespace detail {

template <class Policy, class Op, class... Others, class P, class F>
constexpr decltype(auto) visit_model_or_master(const P& parameter, const float* master, F& f) {
  using Low = typename LowOfParameter<P>::type;
  using T = argument_type_t<Policy, Op, Low, Others...>;
  using ReadAsFloat = argument_type_t<Policy, Op, float, Others...>;
  const auto size = static_cast<stdlib::size_t>(parameter.model.size());
  if (parameter.model.type() == element_type_of<float>) {
    return f(ConvertingView<ReadAsFloat, const float>(static_cast<const float*>(parameter.model.data()), size));
  }
  if constexpr (stdlib::is_same_v<T, float>) {
    if (master != nullptr) return f(ConvertingView<float, const float>(master, size));
  }
  return f(ConvertingView<T, const Low>(static_cast<const Low*>(parameter.model.data()), size));
}

}  // namespace detail

/// The same for a parameter that keeps its element type as a value: calls `f` with the view, whose type depends on it.
///
/// @param parameter an optimizer's parameter: model of its low type or float; a master that the user gave, or none.
/// @param f         called once, with one of two view types; both calls must return the same type.
template <class Policy, class Op, class... Others, detail::RunTimeParameter P, class F>
constexpr decltype(auto) visit_argument(const P& parameter, F&& f) {
  return detail::visit_model_or_master<Policy, Op, Others...>(parameter, static_cast<const float*>(parameter.master.data()), f);
}

/// The same for parameter `i` of an optimizer, with the master that the optimizer keeps.
///
///     visit_argument<Policy, op::linear>(optimizer, 0, [&](auto w) { my_kernel<<<blocks, threads, 0, stream>>>(w, x, y); });
///
/// The view is of memory that the optimizer's steps write: read it on the optimizer's stream.
template <class Policy, class Op, class... Others, class Optimizer, class F>
  requires requires(const Optimizer& o, stdlib::size_t i) {
    o.parameter(i);
    o.master(i).data();
  }
constexpr decltype(auto) visit_argument(const Optimizer& optimizer, stdlib::size_t i, F&& f) {
  return detail::visit_model_or_master<Policy, Op, Others...>(optimizer.parameter(i), optimizer.master(i).data(), f);
}

}  // namespace mezzo
