#pragma once
// Batch norm with the ReLU behind it, and with the addition of a shortcut between the two: what a residual network is made
// of. On CUDA these cost no pass of their own over the data; elsewhere they are the separate ops one after the other.
//
// Shapes and types are those of batch_norm. Queued on the workspace's executor; nothing here waits or allocates.
// batch_norm_workspace_bytes and batch_norm_prepare are theirs too.

#include <source_location>

#include <mezzo/ops/add.hpp>
#include <mezzo/ops/batch_norm.hpp>
#include <mezzo/ops/relu.hpp>

namespace mezzo {

namespace detail {

template <class Where>
inline constexpr bool joins_relu = requires { requires Backend<Where, op::batch_norm>::joins_relu; };

/// Counts a joined call as the ops that it stands for, as the executors that run them one after the other do.
template <class Policy, class T>
void trace_norm_relu(bool adds) {
  trace_call<Policy, op::batch_norm, TracedPass::forward, T(T, statistics_t<T>)>();
  if (adds) trace_call<Policy, op::add, TracedPass::forward, T(T, T)>();
  trace_call<Policy, op::relu, TracedPass::forward, T(T)>();
}
template <class Policy, class T>
void trace_norm_relu_backward(std::size_t count, bool adds) {
  if (count != 0 && adds) trace_call<Policy, op::add, TracedPass::forward, T(T, T)>();
  if (count != 0) trace_call<Policy, op::relu, TracedPass::backward, T(T, T)>();
  trace_call<Policy, op::batch_norm, TracedPass::backward, T(T, T, statistics_t<T>)>();
}

/// The checks of batch_norm on the operands that are data: all of one type, the policy's, and of the shape's size.
template <class Policy, class X, class... Others>
std::size_t check_norm_relu(const OpSite& site, const ImageShape& shape, X&& x, Others&&... others) {
  using T = element_of_t<X>;
  static_assert(reads_as_is<Policy, op::batch_norm, T, statistics_t<T>> && reads_as_is<Policy, op::relu, T> &&
                  (std::is_same_v<element_of_t<Others>, T> && ...),
    "batch_norm_relu: x, y, the shortcut and the gradients must have one element type, the one that the policy reads "
    "(argument_type_t<Policy, op::batch_norm, X, float>). Statistics, gamma and beta are float whatever the data is.");
  const std::size_t count = check_shape(site, shape);
  check_size(site, "x", as_span(x), count);
  (check_size(site, "each operand", as_span(others), count), ...);
  return count;
}

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormWeights<T>& weights) {
  check_size(site, "gamma", weights.gamma, static_cast<std::size_t>(shape.channels));
  check_size(site, "beta", weights.beta, static_cast<std::size_t>(shape.channels));
}

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormRunning<T>& running) {
  if (running.mean.size() == 0 && running.variance.size() == 0) return;
  check_size(site, "running.mean", running.mean, static_cast<std::size_t>(shape.channels));
  check_size(site, "running.variance", running.variance, static_cast<std::size_t>(shape.channels));
}

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormSaved<T>& saved) {
  check_size(site, "saved.mean", saved.mean, static_cast<std::size_t>(shape.channels));
  check_size(site, "saved.inverse_deviation", saved.inverse_deviation, static_cast<std::size_t>(shape.channels));
}

template <class T>
void check_channels(const OpSite& site, const ImageShape& shape, const BatchNormGradients<T>& gradients) {
  check_size(site, "gradients.gamma", gradients.gamma, static_cast<std::size_t>(shape.channels));
  check_size(site, "gradients.beta", gradients.beta, static_cast<std::size_t>(shape.channels));
}

}  // namespace detail

/// y = relu(batch_norm(x)), with the batch's own statistics. Otherwise as batch_norm.
///
/// @param y must not overlap x: the backward pass needs both.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void batch_norm_relu(Workspace<Where>& workspace, const ImageShape& shape, X&& x,
                     const BatchNormWeights<detail::statistics_t<detail::element_of_t<X>>>& weights,
                     const BatchNormRunning<detail::statistics_t<detail::element_of_t<X>>>& running,
                     const BatchNormSaved<detail::statistics_t<detail::element_of_t<X>>>& saved, Y&& y,
                     const BatchNormOptions& options = {}, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_relu: y is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_relu", where};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, x, y);
  detail::check_options(site, options);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, running);
  detail::check_channels(site, shape, saved);
  detail::check_apart(site, "y", as_span(y), "x", as_span(x));
  if (count == 0) return;
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    Norm::template forward<Norm::AfterNorm::relu>(workspace, site.op, shape, static_cast<const T*>(as_span(x).data()),
                                                  static_cast<const T*>(nullptr), weights, running, saved, as_span(y).data(), options, where);
    detail::trace_norm_relu<Policy, T>(false);
  } else {
    batch_norm<Policy>(workspace, shape, x, weights, running, saved, y, options, where);
    relu<Policy>(workspace, y, y, where);
  }
}

/// y = relu(batch_norm_inference(x)). @param y may be x itself.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void batch_norm_relu_inference(Workspace<Where>& workspace, const ImageShape& shape, X&& x,
                               const BatchNormWeights<detail::statistics_t<detail::element_of_t<X>>>& weights,
                               const BatchNormRunning<const detail::statistics_t<detail::element_of_t<X>>>& running, Y&& y,
                               const BatchNormOptions& options = {}, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_relu_inference: y is written, so its elements must not be const.");
  if constexpr (detail::joins_relu<Where>) {
    const detail::OpSite site{"batch_norm_relu_inference", where};
    const std::size_t count = detail::check_norm_relu<Policy>(site, shape, x, y);
    detail::check_options(site, options);
    detail::check_channels(site, shape, weights);
    detail::check_size(site, "running.mean", running.mean, static_cast<std::size_t>(shape.channels));
    detail::check_channels(site, shape, running);
    detail::check_apart_or_same(site, "y", as_span(y), "x", as_span(x));
    if (count == 0) return;
    using Norm = detail::Backend<Where, op::batch_norm>;
    Norm::template inference<Norm::AfterNorm::relu>(workspace, shape, static_cast<const T*>(as_span(x).data()),
                                                    static_cast<const T*>(nullptr), weights, running, as_span(y).data(), options, where);
    detail::trace_norm_relu<Policy, T>(false);
  } else {
    batch_norm_inference<Policy>(workspace, shape, x, weights, running, y, options, where);
    relu<Policy>(workspace, y, y, where);
  }
}

/// Gradients of batch_norm_relu.
///
/// @param x, y    the forward pass's input and output.
/// @param dy      gradient by y.
/// @param weights as in the forward pass, beta too.
/// @param dx      gradient by x; may be dy itself, must not overlap x or y.
/// @param gradients, accumulate as in batch_norm_backward.
/// @throws InvalidArgument as batch_norm.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y, ContiguousRange DY, ContiguousRange DX>
void batch_norm_relu_backward(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Y&& y, DY&& dy,
                              const BatchNormWeights<detail::statistics_t<detail::element_of_t<X>>>& weights,
                              const BatchNormSaved<const detail::statistics_t<detail::element_of_t<X>>>& saved, DX&& dx,
                              const BatchNormGradients<detail::statistics_t<detail::element_of_t<X>>>& gradients,
                              Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<DX>, "batch_norm_relu_backward: dx is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_relu_backward", where};
  [[maybe_unused]] const std::size_t count = detail::check_norm_relu<Policy>(site, shape, x, y, dy, dx);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, saved);
  detail::check_channels(site, shape, gradients);
  detail::check_apart_or_same(site, "dx", as_span(dx), "dy", as_span(dy));
  detail::check_apart(site, "dx", as_span(dx), "x", as_span(x));
  detail::check_apart(site, "dx", as_span(dx), "y", as_span(y));
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    const typename Norm::template Operands<T> operands{.x = as_span(x).data(), .dy = as_span(dy).data()};
    Norm::template backward<Norm::ReluMask::recomputed>(workspace, site.op, shape, operands, weights, saved, as_span(dx).data(), gradients,
                                                        accumulate, where);
    detail::trace_norm_relu_backward<Policy, T>(count, false);
  } else {
    relu_backward<Policy>(workspace, y, dy, dx, where);
    batch_norm_backward<Policy>(workspace, shape, x, dx, weights, saved, dx, gradients, accumulate, where);
  }
}

/// y = relu(batch_norm(x) + shortcut), with the batch's own statistics. On CUDA rounded once; elsewhere batch_norm's result
/// is rounded too before the addition. Otherwise as batch_norm.
///
/// @param shortcut [batch, height, width, channels]
/// @param y        must not overlap x or the shortcut.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Shortcut, ContiguousRange Y>
void batch_norm_add_relu(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Shortcut&& shortcut,
                         const BatchNormWeights<detail::statistics_t<detail::element_of_t<X>>>& weights,
                         const BatchNormRunning<detail::statistics_t<detail::element_of_t<X>>>& running,
                         const BatchNormSaved<detail::statistics_t<detail::element_of_t<X>>>& saved, Y&& y,
                         const BatchNormOptions& options = {}, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_add_relu: y is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_add_relu", where};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, x, shortcut, y);
  detail::check_options(site, options);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, running);
  detail::check_channels(site, shape, saved);
  detail::check_apart(site, "y", as_span(y), "x", as_span(x));
  detail::check_apart(site, "y", as_span(y), "shortcut", as_span(shortcut));
  if (count == 0) return;
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    Norm::template forward<Norm::AfterNorm::add_relu>(workspace, site.op, shape, static_cast<const T*>(as_span(x).data()),
                                                      static_cast<const T*>(as_span(shortcut).data()), weights, running, saved,
                                                      as_span(y).data(), options, where);
    detail::trace_norm_relu<Policy, T>(true);
  } else {
    batch_norm<Policy>(workspace, shape, x, weights, running, saved, y, options, where);
    add<Policy>(workspace, y, shortcut, y, where);
    relu<Policy>(workspace, y, y, where);
  }
}

/// y = relu(batch_norm_inference(x) + shortcut). @param y may be x itself, must not overlap the shortcut.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Shortcut, ContiguousRange Y>
void batch_norm_add_relu_inference(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Shortcut&& shortcut,
                                   const BatchNormWeights<detail::statistics_t<detail::element_of_t<X>>>& weights,
                                   const BatchNormRunning<const detail::statistics_t<detail::element_of_t<X>>>& running, Y&& y,
                                   const BatchNormOptions& options = {}, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_add_relu_inference: y is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_add_relu_inference", where};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, x, shortcut, y);
  detail::check_options(site, options);
  detail::check_channels(site, shape, weights);
  detail::check_size(site, "running.mean", running.mean, static_cast<std::size_t>(shape.channels));
  detail::check_channels(site, shape, running);
  detail::check_apart_or_same(site, "y", as_span(y), "x", as_span(x));
  detail::check_apart(site, "y", as_span(y), "shortcut", as_span(shortcut));
  if (count == 0) return;
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    Norm::template inference<Norm::AfterNorm::add_relu>(workspace, shape, static_cast<const T*>(as_span(x).data()),
                                                        static_cast<const T*>(as_span(shortcut).data()), weights, running,
                                                        as_span(y).data(), options, where);
    detail::trace_norm_relu<Policy, T>(true);
  } else {
    batch_norm_inference<Policy>(workspace, shape, x, weights, running, y, options, where);
    add<Policy>(workspace, y, shortcut, y, where);
    relu<Policy>(workspace, y, y, where);
  }
}

/// Gradients of batch_norm_add_relu.
///
/// @param x, y      the forward pass's input and output.
/// @param dy        gradient by y.
/// @param more      a second gradient by y, added to dy before anything else (rounded once to its type), where y went two
///                  ways; may be empty.
/// @param dx        gradient by x; must not overlap x, y or dshortcut.
/// @param dshortcut gradient by the shortcut: the sum of dy and more where y is positive. May be dy itself.
/// @param gradients, accumulate as in batch_norm_backward.
/// @throws InvalidArgument as batch_norm.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y, ContiguousRange DY, ContiguousRange More,
          ContiguousRange DX, ContiguousRange DShortcut>
void batch_norm_add_relu_backward(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Y&& y, DY&& dy, More&& more,
                                  const BatchNormWeights<detail::statistics_t<detail::element_of_t<X>>>& weights,
                                  const BatchNormSaved<const detail::statistics_t<detail::element_of_t<X>>>& saved, DX&& dx,
                                  DShortcut&& dshortcut,
                                  const BatchNormGradients<detail::statistics_t<detail::element_of_t<X>>>& gradients,
                                  Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<DX, DShortcut>, "batch_norm_add_relu_backward: dx and dshortcut are written, so their elements must not be const.");
  const detail::OpSite site{"batch_norm_add_relu_backward", where};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, x, y, dy, dx, dshortcut);
  const bool two = as_span(more).size() != 0;
  if (two) detail::check_size(site, "more", as_span(more), count);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, saved);
  detail::check_channels(site, shape, gradients);
  detail::check_apart_or_same(site, "dshortcut", as_span(dshortcut), "dy", as_span(dy));
  detail::check_apart_or_same(site, "dshortcut", as_span(dshortcut), "more", as_span(more));
  detail::check_apart(site, "dshortcut", as_span(dshortcut), "x", as_span(x));
  detail::check_apart(site, "dshortcut", as_span(dshortcut), "y", as_span(y));
  detail::check_apart(site, "dx", as_span(dx), "dshortcut", as_span(dshortcut));
  detail::check_apart(site, "dx", as_span(dx), "x", as_span(x));
  detail::check_apart(site, "dx", as_span(dx), "y", as_span(y));
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    const typename Norm::template Operands<T> operands{.x = as_span(x).data(),
                                                       .y = as_span(y).data(),
                                                       .dy = as_span(dy).data(),
                                                       .more = two ? as_span(more).data() : nullptr,
                                                       .masked = as_span(dshortcut).data()};
    Norm::template backward<Norm::ReluMask::from_output>(workspace, site.op, shape, operands, weights, saved, as_span(dx).data(), gradients,
                                                         accumulate, where);
    detail::trace_norm_relu_backward<Policy, T>(count, two);
  } else {
    if (two) {
      add<Policy>(workspace, dy, more, dshortcut, where);
      relu_backward<Policy>(workspace, y, dshortcut, dshortcut, where);
    } else {
      relu_backward<Policy>(workspace, y, dy, dshortcut, where);
    }
    batch_norm_backward<Policy>(workspace, shape, x, dshortcut, weights, saved, dx, gradients, accumulate, where);
  }
}

}  // namespace mezzo
