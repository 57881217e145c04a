#pragma once
// Batch norm over the rows of data in NHWC: training forward, inference, backward.
//
//   x, y, dy, dx   [batch, height, width, channels]   one element type, float16 say
//   all per-channel spans                             float (double for double data): statistics, gamma, beta, gradients
//
// Statistics are taken about the mean, never as a difference of squares, so that a large mean costs no digits. Queued on
// the workspace's executor. After batch_norm_prepare no call waits or allocates; without it the first one on CUDA allocates.

#include <source_location>

#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/detail/batch_norm_checks.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/batch_norm.hpp>
#include <mezzo/ops/named_spans.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo {

/// Bytes of scratch that a batch norm of this shape needs, forward or backward, on data of type T.
template <Element T, Executor Where>
[[nodiscard]] std::size_t batch_norm_workspace_bytes(const Where& executor, const ImageShape& shape,
                                                     std::source_location where = std::source_location::current()) {
  detail::check_shape({"batch_norm_workspace_bytes", where}, shape);
  return detail::Backend<Where, op::batch_norm>::template workspace_bytes<T>(executor, shape);
}

/// Makes what a batch norm of this shape keeps in the workspace: on CUDA some counters, on the host nothing. May allocate and
/// wait; call it before a capture.
/// @throws StateError while the stream is being captured; OutOfMemory; CudaError.
template <Element T, Executor Where>
void batch_norm_prepare(Workspace<Where>& workspace, const ImageShape& shape,
                        std::source_location where = std::source_location::current()) {
  detail::check_shape({"batch_norm_prepare", where}, shape);
  detail::Backend<Where, op::batch_norm>::template prepare<T>(workspace, shape, where);
}

/// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta with the batch's own mean and (biased) variance; in float,
/// rounded once. Updates the running statistics: `running += momentum * (batch - running)`, the variance unbiased; with a
/// single row (batch * height * width = 1), where torch raises, the biased one, which is 0.
///
/// @param running may have empty spans: no statistics are kept.
/// @param saved   written: what batch_norm_backward reads.
/// @param y       may be x itself; but the backward pass needs x.
/// Batch 0: nothing is done.
/// @throws InvalidArgument for a shape or option out of range, a size that does not match, overlap, or too small a workspace.
/// @throws StateError when the stream is being captured and nothing was prepared; CudaError when a launch fails.
/// Source: Ioffe and Szegedy 2015, arXiv:1502.03167; torch.nn.functional.batch_norm(training=True).
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void batch_norm(Workspace<Where>& workspace, const ImageShape& shape, X&& x,
                const BatchNormWeights<sum_type_t<X>>& weights,
                const BatchNormRunning<sum_type_t<X>>& running,
                const BatchNormSaved<sum_type_t<X>>& saved, Y&& y,
                const BatchNormOptions& options = {}, std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  using Sum = sum_type_t<X>;
  static_assert(detail::hold_elements<X, Y>,
    "batch_norm: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<Y>, "batch_norm: y is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::batch_norm, TX, Sum> && std::is_same_v<result_type_t<Policy, op::batch_norm, TX, Sum>, TX> &&
                  std::is_same_v<detail::element_of_t<Y>, TX>,
    "batch_norm: x must have the element type that the policy reads (argument_type_t<Policy, op::batch_norm, X, float>) and y the "
    "one that it returns, the same. Statistics, gamma and beta are float whatever the data is.");
  const detail::OpSite site{"batch_norm", where};
  const std::size_t count = detail::check_shape(site, shape);
  detail::check_options(site, options);
  const auto in = as_span(x);
  const auto out = as_span(y);
  detail::check_size(site, "x", in, count);
  detail::check_size(site, "y", out, count);
  detail::check_channels(site, shape, weights);
  if (detail::is_kept(running)) detail::check_channels(site, shape, running);
  detail::check_channels(site, shape, saved);
  detail::check_apart_or_same(site, "y", out, "x", in);
  detail::check_forward_apart(site, detail::Named{"y", out}, weights, running, saved, detail::Named{"x", in});
  if (count == 0) return;
  detail::Backend<Where, op::batch_norm>::forward(workspace, site, shape, static_cast<const TX*>(in.data()), weights, running,
                                                  saved, out.data(), options);
  trace_call<Policy, op::batch_norm, TracedPass::forward, TX(TX, Sum)>();
}

/// y = (x - running.mean) / sqrt(running.variance + epsilon) * gamma + beta; in float, rounded once.
///
/// @param y may be x itself. Batch 0: nothing is done.
/// @throws InvalidArgument as batch_norm; CudaError when a launch fails.
/// Source: torch.nn.functional.batch_norm(training=False).
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void batch_norm_inference(Workspace<Where>& workspace, const ImageShape& shape, X&& x,
                          const BatchNormWeights<sum_type_t<X>>& weights,
                          const BatchNormRunning<const sum_type_t<X>>& running, Y&& y,
                          const BatchNormOptions& options = {}, std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  using Sum = sum_type_t<X>;
  static_assert(detail::hold_elements<X, Y>,
    "batch_norm_inference: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<Y>, "batch_norm_inference: y is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::batch_norm, TX, Sum> && std::is_same_v<result_type_t<Policy, op::batch_norm, TX, Sum>, TX> &&
                  std::is_same_v<detail::element_of_t<Y>, TX>,
    "batch_norm_inference: x must have the element type that the policy reads (argument_type_t<Policy, op::batch_norm, X, float>) "
    "and y the one that it returns, the same. Statistics, gamma and beta are float whatever the data is.");
  const detail::OpSite site{"batch_norm_inference", where};
  const std::size_t count = detail::check_shape(site, shape);
  detail::check_options(site, options);
  const auto in = as_span(x);
  const auto out = as_span(y);
  detail::check_size(site, "x", in, count);
  detail::check_size(site, "y", out, count);
  detail::check_channels(site, shape, weights);
  detail::check_channels(site, shape, running);
  detail::check_apart_or_same(site, "y", out, "x", in);
  detail::check_inference_apart(site, detail::Named{"y", out}, weights, running);
  if (count == 0) return;
  detail::Backend<Where, op::batch_norm>::inference(workspace, site, shape, static_cast<const TX*>(in.data()), weights,
                                                    running, out.data(), options);
  trace_call<Policy, op::batch_norm, TracedPass::forward, TX(TX, Sum)>();
}

/// Gradients of the training forward pass, through the batch's statistics.
///
/// @param x, dy     the forward pass's input, and the gradient by its output.
/// @param weights   gamma is read; beta is not and may be empty.
/// @param saved     as the forward pass wrote it.
/// @param dx        gradient by x; may be dy or x itself.
/// @param gradients written: by gamma and beta, summed over the batch. Batch 0: zeros.
/// @param accumulate yes: gradients are added to what their spans hold. dx is always overwritten.
/// @throws as batch_norm.
/// Source: Ioffe and Szegedy 2015, section 3; torch.native_batch_norm_backward(train=True).
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange DY, ContiguousRange DX>
void batch_norm_backward(Workspace<Where>& workspace, const ImageShape& shape, X&& x, DY&& dy,
                         const BatchNormWeights<sum_type_t<X>>& weights,
                         const BatchNormSaved<const sum_type_t<X>>& saved, DX&& dx,
                         const BatchNormGradients<sum_type_t<X>>& gradients,
                         Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  using Sum = sum_type_t<X>;
  static_assert(detail::hold_elements<X, DY, DX>,
    "batch_norm_backward: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DX>, "batch_norm_backward: dx is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::batch_norm, TX, Sum> && std::is_same_v<detail::element_of_t<DY>, TX> &&
                  std::is_same_v<detail::element_of_t<DX>, TX>,
    "batch_norm_backward: x, dy and dx must have one element type, the one that the policy reads "
    "(argument_type_t<Policy, op::batch_norm, X, float>).");
  const detail::OpSite site{"batch_norm_backward", where};
  const std::size_t count = detail::check_shape(site, shape);
  const auto in = as_span(x);
  const auto gradient = as_span(dy);
  const auto out = as_span(dx);
  detail::check_size(site, "x", in, count);
  detail::check_size(site, "dy", gradient, count);
  detail::check_size(site, "dx", out, count);
  detail::check_size(site, "gamma", weights.gamma, detail::channels_of(shape));
  detail::check_channels(site, shape, saved);
  detail::check_channels(site, shape, gradients);
  detail::check_apart_or_same(site, "dx", out, "dy", gradient);
  detail::check_apart_or_same(site, "dx", out, "x", in);
  detail::check_backward_apart(site, detail::Named{"dx", out}, gradients, weights, saved, detail::Named{"x", in},
                               detail::Named{"dy", gradient});
  detail::Backend<Where, op::batch_norm>::backward(workspace, site, shape, static_cast<const TX*>(in.data()),
                                                   static_cast<const TX*>(gradient.data()), weights, saved, out.data(), gradients,
                                                   accumulate);
  trace_call<Policy, op::batch_norm, TracedPass::backward, TX(TX, TX, Sum)>();
}

}  // namespace mezzo
