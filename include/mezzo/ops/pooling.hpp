#pragma once
// Maximum, average and global average pooling, forward and backward, on data in NHWC.
//
// All operands have one element type; averages run in float (double for double), rounded once. Queued on the workspace's
// executor; nothing here waits, allocates, plans or needs scratch, so that all of it may be captured in a graph as it is.
// Batch 0: nothing to do.

#include <source_location>

#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/detail/pooling_checks.hpp>
#include <mezzo/ops/host/pooling.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo {

/// y: the largest element of each window; a NaN counts as the largest. Exact.
///
/// @param x [batch, height, width, channels]
/// @param y [batch, out_height(), out_width(), channels]; must not overlap x.
/// @throws InvalidArgument for a shape out of range (windows must not overlap), a size that does not match, or overlap.
/// @throws CudaError when a launch fails.
/// Source: torch.nn.functional.max_pool2d without padding.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void max_pool2d(Workspace<Where>& workspace, const Pool2dShape& shape, X&& x, Y&& y,
                std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  const detail::OpSite site{"max_pool2d", where};
  const auto [in, out] = detail::pooled<Policy, op::max_pool2d>(site, shape, x, y);
  if (in.size() == 0) return;
  detail::Backend<Where, op::max_pool2d>::forward(workspace, site, shape, in.data(), out.data());
  trace_call<Policy, op::max_pool2d, TracedPass::forward, T(T)>();
}

/// dx: dy at the first largest element of each window, 0 elsewhere. Exact.
///
/// @param x  the forward pass's input.
/// @param dy gradient by y.
/// @param dx gradient by x; must not overlap x or dy.
/// @throws as max_pool2d.
/// Source: torch.nn.functional.max_pool2d and its gradient.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange DY, ContiguousRange DX>
void max_pool2d_backward(Workspace<Where>& workspace, const Pool2dShape& shape, X&& x, DY&& dy, DX&& dx,
                         std::source_location where = std::source_location::current()) {
  const detail::OpSite site{"max_pool2d_backward", where};
  using T = detail::element_of_t<DY>;
  const auto [gradient, out] = detail::unpooled<Policy, op::max_pool2d>(site, shape, dy, dx);
  const auto in = as_span(x);
  static_assert(std::is_same_v<detail::element_of_t<X>, detail::element_of_t<DY>>,
    "max_pool2d_backward: x, dy and dx must have one element type: nothing is cast.");
  detail::check_size(site, "x", in, out.size());
  detail::check_apart(site, "dx", out, "x", in);
  if (out.size() == 0) return;
  const T* const values = in.data();
  detail::Backend<Where, op::max_pool2d>::backward(workspace, site, shape, values, gradient.data(), out.data());
  trace_call<Policy, op::max_pool2d, TracedPass::backward, T(T, T)>();
}

/// y: the mean of each window.
///
/// @param x [batch, height, width, channels]
/// @param y [batch, out_height(), out_width(), channels]; must not overlap x.
/// @throws as max_pool2d.
/// Source: torch.nn.functional.avg_pool2d without padding.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void avg_pool2d(Workspace<Where>& workspace, const Pool2dShape& shape, X&& x, Y&& y,
                std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  const detail::OpSite site{"avg_pool2d", where};
  const auto [in, out] = detail::pooled<Policy, op::avg_pool2d>(site, shape, x, y);
  if (in.size() == 0) return;
  detail::Backend<Where, op::avg_pool2d>::forward(workspace, site, shape, in.data(), out.data());
  trace_call<Policy, op::avg_pool2d, TracedPass::forward, T(T)>();
}

/// dx: dy / (window * window) on each element of its window, 0 outside of all windows.
///
/// @param dy gradient by y.
/// @param dx gradient by x; must not overlap dy.
/// @throws as max_pool2d.
/// Source: the gradient of torch.nn.functional.avg_pool2d.
template <class Policy, Executor Where, ContiguousRange DY, ContiguousRange DX>
void avg_pool2d_backward(Workspace<Where>& workspace, const Pool2dShape& shape, DY&& dy, DX&& dx,
                         std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<DY>;
  const detail::OpSite site{"avg_pool2d_backward", where};
  const auto [gradient, out] = detail::unpooled<Policy, op::avg_pool2d>(site, shape, dy, dx);
  if (out.size() == 0) return;
  detail::Backend<Where, op::avg_pool2d>::backward(workspace, site, shape, gradient.data(), out.data());
  trace_call<Policy, op::avg_pool2d, TracedPass::backward, T(T)>();
}

/// y[n, c]: the mean over all pixels of image n.
///
/// @param x [batch, height, width, channels]
/// @param y [batch, channels]; must not overlap x.
/// @throws as max_pool2d.
/// Source: torch.nn.functional.adaptive_avg_pool2d to 1 x 1.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void global_avg_pool2d(Workspace<Where>& workspace, const ImageShape& shape, X&& x, Y&& y,
                       std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<X>;
  const detail::OpSite site{"global_avg_pool2d", where};
  const auto [in, out] = detail::pooled<Policy, op::adaptive_avg_pool2d>(site, shape, x, y);
  if (in.size() == 0) return;
  detail::Backend<Where, op::adaptive_avg_pool2d>::forward(workspace, site, shape, in.data(), out.data());
  trace_call<Policy, op::adaptive_avg_pool2d, TracedPass::forward, T(T)>();
}

/// dx[n, i, j, c] = dy[n, c] / (height * width).
///
/// @param dy [batch, channels] gradient by y.
/// @param dx gradient by x; must not overlap dy.
/// @throws as max_pool2d.
/// Source: the gradient of torch.nn.functional.adaptive_avg_pool2d.
template <class Policy, Executor Where, ContiguousRange DY, ContiguousRange DX>
void global_avg_pool2d_backward(Workspace<Where>& workspace, const ImageShape& shape, DY&& dy, DX&& dx,
                                std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<DY>;
  const detail::OpSite site{"global_avg_pool2d_backward", where};
  const auto [gradient, out] = detail::unpooled<Policy, op::adaptive_avg_pool2d>(site, shape, dy, dx);
  if (out.size() == 0) return;
  detail::Backend<Where, op::adaptive_avg_pool2d>::backward(workspace, site, shape, gradient.data(), out.data());
  trace_call<Policy, op::adaptive_avg_pool2d, TracedPass::backward, T(T)>();
}

}  // namespace mezzo
