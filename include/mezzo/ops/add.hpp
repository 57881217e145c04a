#pragma once
// The sum of two spans: a residual connection, or gradients that meet.

#include <cstdint>
#include <source_location>

#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/add.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/promote.hpp>

namespace mezzo {

/// y[i] = a[i] + b[i], added in float (double for double), rounded once.
///
/// @param a, b [n] any element types; read as they are: widening them is exact, so the promote rule needs no copy.
/// @param y    [n] the type that the policy returns: the wider of the two, at least the low type. May be a or b itself
///             (gradient accumulation), must not overlap them otherwise.
/// Queued on the workspace's executor; does not wait; needs no scratch and no plan; may be captured in a graph.
/// @throws InvalidArgument when the sizes differ or the spans overlap; CudaError when a launch fails.
/// Source: torch.add.
template <class Policy, Executor Where, ContiguousRange A, ContiguousRange B, ContiguousRange Y>
void add(Workspace<Where>& workspace, A&& a, B&& b, Y&& y, std::source_location where = std::source_location::current()) {
  using TA = detail::element_of_t<A>;
  using TB = detail::element_of_t<B>;
  static_assert(detail::hold_elements<A, B, Y>,
    "add: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<Y>, "add: y is written, so its elements must not be const.");
  static_assert(std::is_same_v<detail::element_of_t<Y>, result_type_t<Policy, op::add, TA, TB>>,
    "add: y must have the element type that the policy returns: result_type_t<Policy, op::add, A, B>, the wider of the two.");
  const detail::OpSite site{"add", where};
  const auto left = as_span(a);
  const auto right = as_span(b);
  const auto out = as_span(y);
  detail::check_size(site, "b", right, left.size());
  detail::check_size(site, "y", out, left.size());
  detail::check_apart_or_same(site, "y", out, "a", left);
  detail::check_apart_or_same(site, "y", out, "b", right);
  if (left.size() == 0) return;
  detail::Backend<Where, op::add>::run(workspace, site, static_cast<std::int64_t>(left.size()),
                                       static_cast<const TA*>(left.data()), static_cast<const TB*>(right.data()), out.data());
  trace_call<Policy, op::add, TracedPass::forward, detail::element_of_t<Y>(TA, TB)>();
}

}  // namespace mezzo
