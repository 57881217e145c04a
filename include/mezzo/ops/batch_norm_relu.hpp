#pragma once
// Batch norm with the ReLU behind it, and with the addition of a shortcut between the two: what a residual network is made
// of. On CUDA these cost no pass of their own over the data; elsewhere they are the separate ops one after the other.
//
// Shapes and types are those of batch_norm, and so are batch_norm_workspace_bytes and batch_norm_prepare. Queued on the
// workspace's executor; after the preparation nothing here waits or allocates.

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
  trace_call<Policy, op::batch_norm, TracedPass::forward, T(T, accumulation_t<T>)>();
  if (adds) trace_call<Policy, op::add, TracedPass::forward, T(T, T)>();
  trace_call<Policy, op::relu, TracedPass::forward, T(T)>();
}
template <class Policy, class T>
void trace_norm_relu_backward(std::size_t count, bool adds) {
  if (count != 0 && adds) trace_call<Policy, op::add, TracedPass::forward, T(T, T)>();
  if (count != 0) trace_call<Policy, op::relu, TracedPass::backward, T(T, T)>();
  trace_call<Policy, op::batch_norm, TracedPass::backward, T(T, T, accumulation_t<T>)>();
}

}  // namespace detail

/// y = relu(batch_norm(x)), with the batch's own statistics. Otherwise as batch_norm.
///
/// @param y must not overlap x: the backward pass needs both.
/// Source: torch.relu(torch.nn.functional.batch_norm(x, ..., training=True)).
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void batch_norm_relu(Workspace<Where>& workspace, const ImageShape& shape, X&& x, const BatchNormWeights<sum_type_t<X>>& weights,
                     const BatchNormRunning<sum_type_t<X>>& running, const BatchNormSaved<sum_type_t<X>>& saved, Y&& y,
                     const BatchNormOptions& options = {}, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_relu: y is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_relu", where};
  const detail::Named in{"x", as_span(x)};
  const detail::Named out{"y", as_span(y)};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, in, out);
  detail::check_options(site, options);
  detail::check_channels(site, shape, weights);
  if (detail::is_kept(running)) detail::check_channels(site, shape, running);
  detail::check_channels(site, shape, saved);
  detail::check_apart(site, out, in);
  detail::check_forward_apart(site, out, weights, running, saved, in);
  if (count == 0) return;
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    const T* const none = nullptr;
    Norm::template forward<Norm::AfterNorm::relu>(workspace, site, shape, static_cast<const T*>(in.span.data()), none, weights, running,
                                                  saved, out.span.data(), options);
    detail::trace_norm_relu<Policy, T>(false);
  } else {
    batch_norm<Policy>(workspace, shape, x, weights, running, saved, y, options, where);
    relu<Policy>(workspace, y, y, where);
  }
}

/// y = relu(batch_norm_inference(x)). Otherwise as batch_norm_inference.
///
/// @param y may be x itself.
/// Source: torch.relu(torch.nn.functional.batch_norm(x, ..., training=False)).
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void batch_norm_relu_inference(Workspace<Where>& workspace, const ImageShape& shape, X&& x,
                               const BatchNormWeights<sum_type_t<X>>& weights, const BatchNormRunning<const sum_type_t<X>>& running,
                               Y&& y, const BatchNormOptions& options = {},
                               std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_relu_inference: y is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_relu_inference", where};
  const detail::Named in{"x", as_span(x)};
  const detail::Named out{"y", as_span(y)};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, in, out);
  detail::check_options(site, options);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, running);
  detail::check_apart_or_same(site, out, in);
  detail::check_inference_apart(site, out, weights, running);
  if (count == 0) return;
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    const T* const none = nullptr;
    Norm::template inference<Norm::AfterNorm::relu>(workspace, site, shape, static_cast<const T*>(in.span.data()), none, weights, running,
                                                    out.span.data(), options);
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
/// @param saved   as the forward pass wrote it.
/// @param dx      gradient by x; may be dy itself, must not overlap x or y.
/// @param gradients, accumulate as in batch_norm_backward.
/// @throws as batch_norm.
/// Source: those of batch_norm_backward and relu_backward.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y, ContiguousRange DY, ContiguousRange DX>
void batch_norm_relu_backward(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Y&& y, DY&& dy,
                              const BatchNormWeights<sum_type_t<X>>& weights, const BatchNormSaved<const sum_type_t<X>>& saved, DX&& dx,
                              const BatchNormGradients<sum_type_t<X>>& gradients, Accumulate accumulate = Accumulate::no,
                              std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<DX>, "batch_norm_relu_backward: dx is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_relu_backward", where};
  const detail::Named in{"x", as_span(x)};
  const detail::Named output{"y", as_span(y)};
  const detail::Named gradient{"dy", as_span(dy)};
  const detail::Named out{"dx", as_span(dx)};
  [[maybe_unused]] const std::size_t count = detail::check_norm_relu<Policy>(site, shape, in, output, gradient, out);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, saved);
  detail::check_channels(site, shape, gradients);
  detail::check_apart_or_same(site, out, gradient);
  detail::check_apart(site, out, in);
  detail::check_apart(site, out, output);
  detail::check_backward_apart(site, out, gradients, weights, saved, in, output, gradient);
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    const typename Norm::template Operands<T> operands{.x = in.span.data(), .dy = gradient.span.data()};
    Norm::template backward<Norm::ReluMask::recomputed>(workspace, site, shape, operands, weights, saved, out.span.data(), gradients,
                                                        accumulate);
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
/// Source: He et al. 2015, arXiv:1512.03385, the end of a residual block.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Shortcut, ContiguousRange Y>
void batch_norm_add_relu(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Shortcut&& shortcut,
                         const BatchNormWeights<sum_type_t<X>>& weights, const BatchNormRunning<sum_type_t<X>>& running,
                         const BatchNormSaved<sum_type_t<X>>& saved, Y&& y, const BatchNormOptions& options = {},
                         std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_add_relu: y is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_add_relu", where};
  const detail::Named in{"x", as_span(x)};
  const detail::Named added{"shortcut", as_span(shortcut)};
  const detail::Named out{"y", as_span(y)};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, in, added, out);
  detail::check_options(site, options);
  detail::check_channels(site, shape, weights);
  if (detail::is_kept(running)) detail::check_channels(site, shape, running);
  detail::check_channels(site, shape, saved);
  detail::check_apart(site, out, in);
  detail::check_apart(site, out, added);
  detail::check_forward_apart(site, out, weights, running, saved, in, added);
  if (count == 0) return;
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    Norm::template forward<Norm::AfterNorm::add_relu>(workspace, site, shape, static_cast<const T*>(in.span.data()),
                                                      static_cast<const T*>(added.span.data()), weights, running, saved, out.span.data(),
                                                      options);
    detail::trace_norm_relu<Policy, T>(true);
  } else {
    batch_norm<Policy>(workspace, shape, x, weights, running, saved, y, options, where);
    add<Policy>(workspace, y, shortcut, y, where);
    relu<Policy>(workspace, y, y, where);
  }
}

/// y = relu(batch_norm_inference(x) + shortcut). Otherwise as batch_norm_inference; rounded as batch_norm_add_relu.
///
/// @param y may be x itself, must not overlap the shortcut.
/// Source: that of batch_norm_add_relu.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Shortcut, ContiguousRange Y>
void batch_norm_add_relu_inference(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Shortcut&& shortcut,
                                   const BatchNormWeights<sum_type_t<X>>& weights,
                                   const BatchNormRunning<const sum_type_t<X>>& running, Y&& y, const BatchNormOptions& options = {},
                                   std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<Y>, "batch_norm_add_relu_inference: y is written, so its elements must not be const.");
  const detail::OpSite site{"batch_norm_add_relu_inference", where};
  const detail::Named in{"x", as_span(x)};
  const detail::Named added{"shortcut", as_span(shortcut)};
  const detail::Named out{"y", as_span(y)};
  const std::size_t count = detail::check_norm_relu<Policy>(site, shape, in, added, out);
  detail::check_options(site, options);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, running);
  detail::check_apart_or_same(site, out, in);
  detail::check_apart(site, out, added);
  detail::check_inference_apart(site, out, weights, running);
  if (count == 0) return;
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    Norm::template inference<Norm::AfterNorm::add_relu>(workspace, site, shape, static_cast<const T*>(in.span.data()),
                                                        static_cast<const T*>(added.span.data()), weights, running, out.span.data(),
                                                        options);
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
///                  ways; of the same type, may be empty.
/// @param weights   as in the forward pass.
/// @param saved     as the forward pass wrote it.
/// @param dx        gradient by x; must not overlap x, y or dshortcut.
/// @param dshortcut gradient by the shortcut: the sum of dy and more where y is positive. May be dy itself, or `more`; must not
///                  overlap x or y.
/// @param gradients, accumulate as in batch_norm_backward.
/// @throws as batch_norm.
/// Source: those of batch_norm_backward and relu_backward.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y, ContiguousRange DY, ContiguousRange More,
          ContiguousRange DX, ContiguousRange DShortcut>
void batch_norm_add_relu_backward(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Y&& y, DY&& dy, More&& more,
                                  const BatchNormWeights<sum_type_t<X>>& weights, const BatchNormSaved<const sum_type_t<X>>& saved,
                                  DX&& dx, DShortcut&& dshortcut, const BatchNormGradients<sum_type_t<X>>& gradients,
                                  Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  static_assert(detail::writable<DX, DShortcut>, "batch_norm_add_relu_backward: dx and dshortcut are written, so their elements must not be const.");
  const detail::OpSite site{"batch_norm_add_relu_backward", where};
  const detail::Named in{"x", as_span(x)};
  const detail::Named output{"y", as_span(y)};
  const detail::Named gradient{"dy", as_span(dy)};
  const detail::Named second{"more", as_span(more), true};
  const detail::Named out{"dx", as_span(dx)};
  const detail::Named masked{"dshortcut", as_span(dshortcut)};
  [[maybe_unused]] const std::size_t count = detail::check_norm_relu<Policy>(site, shape, in, output, gradient, second, out, masked);
  const bool two = second.span.size() != 0;
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, saved);
  detail::check_channels(site, shape, gradients);
  detail::check_apart_or_same(site, masked, gradient);
  detail::check_apart_or_same(site, masked, second);
  detail::check_apart(site, masked, in);
  detail::check_apart(site, masked, output);
  detail::check_apart(site, out, masked);
  detail::check_apart(site, out, in);
  detail::check_apart(site, out, output);
  detail::check_backward_apart(site, out, gradients, weights, saved, in, output, gradient, second);
  detail::check_backward_apart(site, masked, gradients, weights, saved);
  if constexpr (detail::joins_relu<Where>) {
    using Norm = detail::Backend<Where, op::batch_norm>;
    const typename Norm::template Operands<T> operands{.x = in.span.data(),
                                                       .y = output.span.data(),
                                                       .dy = gradient.span.data(),
                                                       .more = two ? second.span.data() : nullptr,
                                                       .masked = masked.span.data()};
    Norm::template backward<Norm::ReluMask::from_output>(workspace, site, shape, operands, weights, saved, out.span.data(), gradients,
                                                         accumulate);
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
