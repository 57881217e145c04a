#pragma once
// The rectifier, forward and backward.

#include <cstdint>
#include <source_location>

#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/relu.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo {

/// y[i] = max(x[i], 0); a NaN stays a NaN, -0 becomes +0. Exact.
///
/// @param x [n] any element type; may be empty.
/// @param y [n] the same type; may be x itself, must not overlap it otherwise.
/// Queued on the workspace's executor; does not wait; needs no scratch and no plan; may be captured in a graph.
/// @throws InvalidArgument when the sizes differ or the spans overlap; CudaError when a launch fails.
/// Source: torch.relu.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange Y>
void relu(Workspace<Where>& workspace, X&& x, Y&& y, std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  static_assert(detail::hold_elements<X, Y>,
    "relu: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<Y>, "relu: y is written, so its elements must not be const.");
  static_assert(std::is_same_v<detail::element_of_t<Y>, result_type_t<Policy, op::relu, TX>>,
    "relu: y must have the element type that the policy returns: result_type_t<Policy, op::relu, X>, the type of x by default.");
  static_assert(std::is_same_v<detail::element_of_t<Y>, TX>,
    "relu: it casts nothing, so a policy under which it returns another type than it reads is not supported. Convert x before.");
  const detail::OpSite site{"relu", where};
  const auto in = as_span(x);
  const auto out = as_span(y);
  detail::check_size(site, "y", out, in.size());
  detail::check_apart_or_same(site, "y", out, "x", in);
  if (in.size() == 0) return;
  detail::Backend<Where, op::relu>::forward(workspace, site, static_cast<std::int64_t>(in.size()), static_cast<const TX*>(in.data()),
                                            out.data());
  trace_call<Policy, op::relu, TracedPass::forward, TX(TX)>();
}

/// dx[i] = dy[i] where y[i] > 0 or is a NaN, else 0. Exact.
///
/// @param y  [n] the output of relu (its input will do as well), so that the input need not be kept.
/// @param dy [n] gradient by y; any element type.
/// @param dx [n] gradient by x, of dy's type; may be dy or y itself, must not overlap them otherwise.
/// Queued on the workspace's executor; does not wait; needs no scratch and no plan; may be captured in a graph.
/// @throws InvalidArgument when the sizes differ or the spans overlap; CudaError when a launch fails.
/// Source: torch.ops.aten.threshold_backward(dy, y, 0).
template <class Policy, Executor Where, ContiguousRange Y, ContiguousRange DY, ContiguousRange DX>
void relu_backward(Workspace<Where>& workspace, Y&& y, DY&& dy, DX&& dx,
                   std::source_location where = std::source_location::current()) {
  using TG = detail::element_of_t<DY>;
  using TY = detail::element_of_t<Y>;
  static_assert(detail::hold_elements<Y, DY, DX>,
    "relu_backward: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DX>, "relu_backward: dx is written, so its elements must not be const.");
  static_assert(std::is_same_v<detail::element_of_t<DX>, TG>, "relu_backward: dx must have the element type of dy: nothing is cast.");
  const detail::OpSite site{"relu_backward", where};
  const auto gate = as_span(y);
  const auto gradient = as_span(dy);
  const auto out = as_span(dx);
  detail::check_size(site, "dy", gradient, gate.size());
  detail::check_size(site, "dx", out, gate.size());
  detail::check_apart_or_same(site, "dx", out, "dy", gradient);
  detail::check_apart_or_same(site, "dx", out, "y", gate);
  if (gate.size() == 0) return;
  detail::Backend<Where, op::relu>::backward(workspace, site, static_cast<std::int64_t>(gate.size()),
                                             static_cast<const TG*>(gradient.data()), static_cast<const TY*>(gate.data()), out.data());
  trace_call<Policy, op::relu, TracedPass::backward, TG(TG, TY)>();
}

}  // namespace mezzo
