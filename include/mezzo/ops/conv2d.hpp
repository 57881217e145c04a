#pragma once
// Convolution, forward and backward, on data in NHWC.
//
//   x   [batch, height, width, in_channels]                the policy's type for conv2d, float16 say
//   w   [out_channels, kernel, kernel, in_channels]        the same
//   y   [batch, out_height(), out_width(), out_channels]   the same; accumulated in float, rounded once
//
// The operands may be any contiguous ranges. Types are checked at compile time against the policy: nothing is cast behind
// the caller's back. Everything is queued on the workspace's executor. What conv2d_prepare planned neither waits nor
// allocates; anything else plans at its first call on CUDA, which does both: for seconds where cuDNN tries kernels.

#include <algorithm>
#include <source_location>

#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/conv2d.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/lower_precision.hpp>

namespace mezzo {

namespace detail {

/// The shape as back ends take it, and the elements of its operands.
struct CheckedConv2d {
  Conv2dShape shape;
  std::size_t x, w, y;
};

/// Checks a shape. Every call comes through here, so that no back end sees a stride beyond the padded image: all of those have
/// one window, and the smallest of them stands for them.
inline CheckedConv2d check_shape(const OpSite& site, const Conv2dShape& shape) {
  check_at_least(site, "batch", shape.batch, 0);
  check_at_least(site, "height", shape.height, 1);
  check_at_least(site, "width", shape.width, 1);
  check_at_least(site, "in_channels", shape.in_channels, 1);
  check_at_least(site, "out_channels", shape.out_channels, 1);
  check_at_least(site, "kernel", shape.kernel, 1);
  check_at_least(site, "stride", shape.stride, 1);
  check_at_least(site, "padding", shape.padding, 0);
  require(shape.padding < shape.kernel, site.where, site.op, "shape.padding must be less than shape.kernel", shape.padding);
  CheckedConv2d checked{.shape = shape,
                        .x = element_count(site, "x", {shape.batch, shape.height, shape.width, shape.in_channels}),
                        .w = element_count(site, "w", {shape.out_channels, shape.kernel, shape.kernel, shape.in_channels}),
                        .y = 0};
  const std::int64_t side = shape.height < shape.width ? shape.height : shape.width;
  require(shape.kernel - 2 * shape.padding <= side, site.where, site.op, "shape.kernel must fit into the padded image",
          shape.kernel);
  checked.y = element_count(site, "y", {shape.batch, shape.out_height(), shape.out_width(), shape.out_channels});
  checked.shape.stride = (std::min)(shape.stride, (std::max)(shape.height, shape.width) + 2 * shape.padding);
  return checked;
}

}  // namespace detail

/// Bytes of scratch for convolutions of this shape, forward and backward, with operands of type T; where they differ in type,
/// of the widest. The host runs with less on fewer threads, CUDA with less on fewer images at a time and fewer kernels to choose
/// from; below what one thread or one image needs, a call throws.
template <Element T, Executor Where>
[[nodiscard]] std::size_t conv2d_workspace_bytes(const Where& executor, const Conv2dShape& shape,
                                                 std::source_location where = std::source_location::current()) {
  const auto checked = detail::check_shape({"conv2d_workspace_bytes", where}, shape);
  return detail::Backend<Where, op::conv2d>::template workspace_bytes<T>(executor, checked.shape);
}

/// Plans the convolutions of this shape, forward and backward, with results in T and float: on the host nothing, on CUDA the
/// kernels to run. May allocate and wait, for seconds where cuDNN tries kernels; it tries them on memory of the operands' size,
/// and where the device has not so much left, the toolkit's way is taken instead.
///
/// The plans hold for operands that are all of type T and aligned to 16 bytes, for the size of this workspace and for the
/// Float32Math that is set now. Other calls plan at their first run.
/// @throws InvalidArgument as conv2d; StateError while the stream is being captured; OutOfMemory; CudaError.
template <Element T, Executor Where>
void conv2d_prepare(Workspace<Where>& workspace, const Conv2dShape& shape,
                    std::source_location where = std::source_location::current()) {
  const auto checked = detail::check_shape({"conv2d_prepare", where}, shape);
  detail::Backend<Where, op::conv2d>::template prepare<T>(workspace, checked.shape, where);
}

/// y = x * w: `y[n, i, j, o]` is the sum over window and channels of `x[n, i*stride+r-padding, j*stride+s-padding, c] *
/// w[o, r, s, c]`, zeros outside the image. Not a flipped kernel, as in torch.
///
/// @param y overwritten; must not overlap x or w. Batch 0: nothing to do.
/// @throws InvalidArgument for a shape out of range, a size that does not match it, overlap, or too small a workspace.
/// @throws StateError when a plan would be made while the stream is being captured; CudaError when a library or a launch fails.
/// Source: torch.nn.functional.conv2d in channels_last, without bias.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange W, ContiguousRange Y>
void conv2d(Workspace<Where>& workspace, const Conv2dShape& shape, X&& x, W&& w, Y&& y,
            std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  using TW = detail::element_of_t<W>;
  static_assert(detail::hold_elements<X, W, Y>,
    "conv2d: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<Y>, "conv2d: y is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::conv2d, TX, TW> && detail::reads_as_is<Policy, op::conv2d, TW, TX>,
    "conv2d: under this policy x and w must have another element type: argument_type_t<Policy, op::conv2d, X, W>. A cast of "
    "whole operands is never hidden in an op: pass the parameter's low-precision copy, or convert the data once before.");
  static_assert(std::is_same_v<detail::element_of_t<Y>, result_type_t<Policy, op::conv2d, TX, TW>>,
    "conv2d: y must have the element type that the policy returns: result_type_t<Policy, op::conv2d, X, W>.");
  const detail::OpSite site{"conv2d", where};
  const auto checked = detail::check_shape(site, shape);
  const auto in = as_span(x);
  const auto weights = as_span(w);
  const auto out = as_span(y);
  detail::check_size(site, "x", in, checked.x);
  detail::check_size(site, "w", weights, checked.w);
  detail::check_size(site, "y", out, checked.y);
  detail::check_apart(site, "y", out, "x", in);
  detail::check_apart(site, "y", out, "w", weights);
  if (checked.y == 0) return;
  detail::Backend<Where, op::conv2d>::forward(workspace, checked.shape, static_cast<const TX*>(in.data()),
                                              static_cast<const TW*>(weights.data()), out.data(), where);
  trace_call<Policy, op::conv2d, TracedPass::forward, detail::element_of_t<Y>(TX, TW)>();
}

/// dx: the gradient of the loss by x, from dy, its gradient by y.
///
/// @param dy [batch, out_height(), out_width(), out_channels] the policy's type for conv2d.
/// @param dx [batch, height, width, in_channels] the policy's result type; must not overlap dy or w.
/// @param accumulate yes: added to what dx holds, where two branches meet.
/// @throws as conv2d.
/// Source: torch.nn.grad.conv2d_input.
template <class Policy, Executor Where, ContiguousRange DY, ContiguousRange W, ContiguousRange DX>
void conv2d_data_gradient(Workspace<Where>& workspace, const Conv2dShape& shape, DY&& dy, W&& w, DX&& dx,
                          Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using TY = detail::element_of_t<DY>;
  using TW = detail::element_of_t<W>;
  static_assert(detail::hold_elements<DY, W, DX>,
    "conv2d_data_gradient: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DX>, "conv2d_data_gradient: dx is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::conv2d, TY, TW> && detail::reads_as_is<Policy, op::conv2d, TW, TY>,
    "conv2d_data_gradient: under this policy dy and w must have another element type: argument_type_t<Policy, op::conv2d, DY, "
    "W>. Pass what the forward pass was given, or convert the data once before.");
  static_assert(std::is_same_v<detail::element_of_t<DX>, result_type_t<Policy, op::conv2d, TY, TW>>,
    "conv2d_data_gradient: dx must have the element type that the policy returns: result_type_t<Policy, op::conv2d, DY, W>.");
  const detail::OpSite site{"conv2d_data_gradient", where};
  const auto checked = detail::check_shape(site, shape);
  const auto gradient = as_span(dy);
  const auto weights = as_span(w);
  const auto out = as_span(dx);
  detail::check_size(site, "dy", gradient, checked.y);
  detail::check_size(site, "w", weights, checked.w);
  detail::check_size(site, "dx", out, checked.x);
  detail::check_apart(site, "dx", out, "dy", gradient);
  detail::check_apart(site, "dx", out, "w", weights);
  if (checked.x == 0) return;
  detail::Backend<Where, op::conv2d>::data_gradient(workspace, checked.shape, static_cast<const TY*>(gradient.data()),
                                                    static_cast<const TW*>(weights.data()), out.data(), accumulate, where);
  trace_call<Policy, op::conv2d, TracedPass::data_gradient, detail::element_of_t<DX>(TY, TW)>();
}

/// dw: the gradient of the loss by w, summed over the batch.
///
/// @param x  [batch, height, width, in_channels] as in the forward pass.
/// @param dy [batch, out_height(), out_width(), out_channels] gradient by y.
/// @param dw [out_channels, kernel, kernel, in_channels] the policy's result type, or float, which keeps the sum unrounded;
///           must not overlap x or dy. Batch 0: zeros.
/// @param accumulate yes: added to what dw holds (gradient accumulation over several batches).
/// @throws as conv2d.
/// Source: torch.nn.grad.conv2d_weight.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange DY, ContiguousRange DW>
void conv2d_weight_gradient(Workspace<Where>& workspace, const Conv2dShape& shape, X&& x, DY&& dy, DW&& dw,
                            Accumulate accumulate = Accumulate::no,
                            std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  using TY = detail::element_of_t<DY>;
  using TW = detail::element_of_t<DW>;
  static_assert(detail::hold_elements<X, DY, DW>,
    "conv2d_weight_gradient: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DW>, "conv2d_weight_gradient: dw is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::conv2d, TX, TY> && detail::reads_as_is<Policy, op::conv2d, TY, TX>,
    "conv2d_weight_gradient: under this policy x and dy must have another element type: argument_type_t<Policy, op::conv2d, X, "
    "DY>. Pass what the forward pass was given, or convert the data once before.");
  static_assert(std::is_same_v<TW, result_type_t<Policy, op::conv2d, TX, TY>> || std::is_same_v<TW, detail::accumulation_t<TX, TY>>,
    "conv2d_weight_gradient: dw must have the element type that the policy returns (result_type_t<Policy, op::conv2d, X, DY>), "
    "or float, the type of the sum.");
  const detail::OpSite site{"conv2d_weight_gradient", where};
  const auto checked = detail::check_shape(site, shape);
  const auto in = as_span(x);
  const auto gradient = as_span(dy);
  const auto out = as_span(dw);
  detail::check_size(site, "x", in, checked.x);
  detail::check_size(site, "dy", gradient, checked.y);
  detail::check_size(site, "dw", out, checked.w);
  detail::check_apart(site, "dw", out, "x", in);
  detail::check_apart(site, "dw", out, "dy", gradient);
  detail::Backend<Where, op::conv2d>::weight_gradient(workspace, checked.shape, static_cast<const TX*>(in.data()),
                                                      static_cast<const TY*>(gradient.data()), out.data(), accumulate, where);
  trace_call<Policy, op::conv2d, TracedPass::weight_gradient, TW(TX, TY)>();
}

}  // namespace mezzo
