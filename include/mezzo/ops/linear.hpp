#pragma once
// A linear layer, forward and backward.
//
//   x [batch, in_features]          the policy's type for linear, float16 say
//   w [out_features, in_features]   the same (torch's layout)
//   y [batch, out_features]         the same; summed in float with the bias, rounded once
//
// Queued on the workspace's executor. What linear_prepare planned neither waits nor allocates; anything else plans at its first
// call on CUDA, which may do both.

#include <source_location>

#include <mezzo/ops/gemm.hpp>
#include <mezzo/ops/host/linear.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/lower_precision.hpp>

namespace mezzo {

namespace detail {

struct LinearCounts {
  std::size_t x, w, y, bias;
};

inline LinearCounts check_shape(const OpSite& site, const LinearShape& shape) {
  check_at_least(site, "batch", shape.batch, 0);
  check_at_least(site, "in_features", shape.in_features, 1);
  check_at_least(site, "out_features", shape.out_features, 1);
  return {.x = element_count(site, "x", {shape.batch, shape.in_features}),
          .w = element_count(site, "w", {shape.out_features, shape.in_features}),
          .y = element_count(site, "y", {shape.batch, shape.out_features}),
          .bias = static_cast<std::size_t>(shape.out_features)};
}

/// The bias's part of op::linear in traces: its gradient is a sum of values read as they are.
struct linear_bias : op::Follows<CastRule::float32_output> {
  static constexpr const char* name = "linear";
};

constexpr GemmShape linear_forward(const LinearShape& shape) {
  return {.m = shape.batch, .n = shape.out_features, .k = shape.in_features, .transpose_b = Transpose::yes};
}
constexpr GemmShape linear_data(const LinearShape& shape) {
  return {.m = shape.batch, .n = shape.in_features, .k = shape.out_features};
}
constexpr GemmShape linear_weight(const LinearShape& shape) {
  return {.m = shape.out_features, .n = shape.in_features, .k = shape.batch, .transpose_a = Transpose::yes};
}

}  // namespace detail

/// Bytes of scratch for a linear layer of this shape, forward and backward, with operands of type T: the largest of its
/// products', see matmul_workspace_bytes, also for operands that differ in type and for what happens with less.
template <Element T, Executor Where>
[[nodiscard]] std::size_t linear_workspace_bytes(const Where& executor, const LinearShape& shape,
                                                 std::source_location where = std::source_location::current()) {
  detail::check_shape({"linear_workspace_bytes", where}, shape);
  return (std::max)({matmul_workspace_bytes<T>(executor, detail::linear_forward(shape), where),
                   matmul_workspace_bytes<T>(executor, detail::linear_data(shape), where),
                   matmul_workspace_bytes<T>(executor, detail::linear_weight(shape), where)});
}

/// Plans the products of this layer, forward and backward, as matmul_prepare does and for the same calls.
/// @throws as matmul_prepare.
template <Element T, Executor Where>
void linear_prepare(Workspace<Where>& workspace, const LinearShape& shape,
                    std::source_location where = std::source_location::current()) {
  detail::check_shape({"linear_prepare", where}, shape);
  matmul_prepare<T>(workspace, detail::linear_forward(shape), where);
  matmul_prepare<T>(workspace, detail::linear_data(shape), where);
  matmul_prepare<T>(workspace, detail::linear_weight(shape), where);
}

/// y = x w^T + bias.
///
/// @param bias [out_features], of x's type or float: it joins the sum before the one rounding. May be empty: none.
/// @param y    [batch, out_features]; the policy's result type, or float; must not overlap x, w or bias.
/// @throws InvalidArgument for a shape out of range, a size that does not match it, overlap, or (host) too small a workspace.
/// @throws StateError when a plan would be made while the stream is being captured; CudaError when a library or a launch fails.
/// Source: torch.nn.functional.linear.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange W, ContiguousRange Bias, ContiguousRange Y>
void linear(Workspace<Where>& workspace, const LinearShape& shape, X&& x, W&& w, Bias&& bias, Y&& y,
            std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  using TW = detail::element_of_t<W>;
  using TB = detail::element_of_t<Bias>;
  using TY = detail::element_of_t<Y>;
  static_assert(detail::hold_elements<X, W, Bias, Y>,
    "linear: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<Y>, "linear: y is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::linear, TX, TW> && detail::reads_as_is<Policy, op::linear, TW, TX>,
    "linear: under this policy x and w must have another element type: argument_type_t<Policy, op::linear, X, W>. A cast of "
    "whole operands is never hidden in an op: pass the parameter's low-precision copy, or convert the data once before.");
  static_assert(std::is_same_v<TB, TX> || std::is_same_v<TB, detail::accumulation_t<TX, TW>>,
    "linear: bias must have the element type of x, or float, the type of the sum that it joins.");
  static_assert(std::is_same_v<TY, result_type_t<Policy, op::linear, TX, TW>> || std::is_same_v<TY, detail::accumulation_t<TX, TW>>,
    "linear: y must have the element type that the policy returns (result_type_t<Policy, op::linear, X, W>), or float, the type "
    "of the sum.");
  const detail::OpSite site{"linear", where};
  const auto counts = detail::check_shape(site, shape);
  const auto in = as_span(x);
  const auto weights = as_span(w);
  const auto offsets = as_span(bias);
  const auto out = as_span(y);
  detail::check_size(site, "x", in, counts.x);
  detail::check_size(site, "w", weights, counts.w);
  if (offsets.size() != 0) detail::check_size(site, "bias", offsets, counts.bias);
  detail::check_size(site, "y", out, counts.y);
  detail::check_apart(site, "y", out, "x", in);
  detail::check_apart(site, "y", out, "w", weights);
  detail::check_apart(site, "y", out, "bias", offsets);
  if (counts.y == 0) return;
  detail::Backend<Where, op::matmul>::run(workspace, site.op, detail::linear_forward(shape), static_cast<const TX*>(in.data()),
                                          static_cast<const TW*>(weights.data()),
                                          offsets.size() != 0 ? static_cast<const TB*>(offsets.data()) : nullptr, out.data(),
                                          Accumulate::no, where);
  trace_call<Policy, op::linear, TracedPass::forward, TY(TX, TW)>();
}

/// dx = dy w: the gradient by x.
///
/// @param dy [batch, out_features] gradient by y; the policy's type for linear.
/// @param w  [out_features, in_features] as in the forward pass.
/// @param dx [batch, in_features] the policy's result type; must not overlap dy or w.
/// @param accumulate yes: added to what dx holds, where two branches meet.
/// @throws as linear.
/// Source: the derivative of torch.nn.functional.linear by its input.
template <class Policy, Executor Where, ContiguousRange DY, ContiguousRange W, ContiguousRange DX>
void linear_data_gradient(Workspace<Where>& workspace, const LinearShape& shape, DY&& dy, W&& w, DX&& dx,
                          Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using TY = detail::element_of_t<DY>;
  using TW = detail::element_of_t<W>;
  static_assert(detail::hold_elements<DY, W, DX>,
    "linear_data_gradient: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DX>, "linear_data_gradient: dx is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::linear, TY, TW> && detail::reads_as_is<Policy, op::linear, TW, TY>,
    "linear_data_gradient: under this policy dy and w must have another element type: argument_type_t<Policy, op::linear, DY, "
    "W>. Pass what the forward pass was given, or convert the data once before.");
  static_assert(std::is_same_v<detail::element_of_t<DX>, result_type_t<Policy, op::linear, TY, TW>>,
    "linear_data_gradient: dx must have the element type that the policy returns: result_type_t<Policy, op::linear, DY, W>.");
  const detail::OpSite site{"linear_data_gradient", where};
  const auto counts = detail::check_shape(site, shape);
  const auto gradient = as_span(dy);
  const auto weights = as_span(w);
  const auto out = as_span(dx);
  detail::check_size(site, "dy", gradient, counts.y);
  detail::check_size(site, "w", weights, counts.w);
  detail::check_size(site, "dx", out, counts.x);
  detail::check_apart(site, "dx", out, "dy", gradient);
  detail::check_apart(site, "dx", out, "w", weights);
  if (counts.x == 0) return;
  detail::Backend<Where, op::matmul>::run(workspace, site.op, detail::linear_data(shape), static_cast<const TY*>(gradient.data()),
                                          static_cast<const TW*>(weights.data()), static_cast<const float*>(nullptr), out.data(),
                                          accumulate, where);
  trace_call<Policy, op::linear, TracedPass::data_gradient, detail::element_of_t<DX>(TY, TW)>();
}

/// dw = dy^T x: the gradient by w, summed over the batch.
///
/// @param x  [batch, in_features] as in the forward pass.
/// @param dy [batch, out_features] gradient by y; the policy's type for linear.
/// @param dw [out_features, in_features] the policy's result type, or float, which keeps the sum unrounded; must not overlap x
///           or dy. Batch 0: zeros.
/// @param accumulate yes: added to what dw holds (gradient accumulation over several batches).
/// @throws as linear.
/// Source: the derivative of torch.nn.functional.linear by its weight.
template <class Policy, Executor Where, ContiguousRange X, ContiguousRange DY, ContiguousRange DW>
void linear_weight_gradient(Workspace<Where>& workspace, const LinearShape& shape, X&& x, DY&& dy, DW&& dw,
                            Accumulate accumulate = Accumulate::no,
                            std::source_location where = std::source_location::current()) {
  using TX = detail::element_of_t<X>;
  using TY = detail::element_of_t<DY>;
  using TW = detail::element_of_t<DW>;
  static_assert(detail::hold_elements<X, DY, DW>,
    "linear_weight_gradient: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DW>, "linear_weight_gradient: dw is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::linear, TX, TY> && detail::reads_as_is<Policy, op::linear, TY, TX>,
    "linear_weight_gradient: under this policy x and dy must have another element type: argument_type_t<Policy, op::linear, X, "
    "DY>. Pass what the forward pass was given, or convert the data once before.");
  static_assert(std::is_same_v<TW, result_type_t<Policy, op::linear, TX, TY>> || std::is_same_v<TW, detail::accumulation_t<TX, TY>>,
    "linear_weight_gradient: dw must have the element type that the policy returns (result_type_t<Policy, op::linear, X, DY>), "
    "or float, the type of the sum.");
  const detail::OpSite site{"linear_weight_gradient", where};
  const auto counts = detail::check_shape(site, shape);
  const auto in = as_span(x);
  const auto gradient = as_span(dy);
  const auto out = as_span(dw);
  detail::check_size(site, "x", in, counts.x);
  detail::check_size(site, "dy", gradient, counts.y);
  detail::check_size(site, "dw", out, counts.w);
  detail::check_apart(site, "dw", out, "x", in);
  detail::check_apart(site, "dw", out, "dy", gradient);
  detail::Backend<Where, op::matmul>::run(workspace, site.op, detail::linear_weight(shape), static_cast<const TY*>(gradient.data()),
                                          static_cast<const TX*>(in.data()), static_cast<const float*>(nullptr), out.data(),
                                          accumulate, where);
  trace_call<Policy, op::linear, TracedPass::weight_gradient, TW(TX, TY)>();
}

/// db[o]: the sum of dy[n, o] over the batch, in float, rounded once.
///
/// @param dy [batch, out_features]; any element type.
/// @param db [out_features] of dy's type or float, which keeps the sum unrounded; must not overlap dy. Batch 0: zeros.
/// @param accumulate yes: added to what db holds (gradient accumulation over several batches).
/// Needs no scratch and no plan.
/// @throws InvalidArgument as linear; CudaError when a launch fails.
/// Source: the derivative of torch.nn.functional.linear by its bias.
template <class Policy, Executor Where, ContiguousRange DY, ContiguousRange DB>
void linear_bias_gradient(Workspace<Where>& workspace, const LinearShape& shape, DY&& dy, DB&& db,
                          Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using TY = detail::element_of_t<DY>;
  using TB = detail::element_of_t<DB>;
  static_assert(detail::hold_elements<DY, DB>,
    "linear_bias_gradient: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DB>, "linear_bias_gradient: db is written, so its elements must not be const.");
  static_assert(std::is_same_v<TB, TY> || std::is_same_v<TB, detail::accumulation_t<TY>>,
    "linear_bias_gradient: db must have the element type of dy, or float, the type of the sum.");
  const detail::OpSite site{"linear_bias_gradient", where};
  const auto counts = detail::check_shape(site, shape);
  const auto gradient = as_span(dy);
  const auto out = as_span(db);
  detail::check_size(site, "dy", gradient, counts.y);
  detail::check_size(site, "db", out, counts.bias);
  detail::check_apart(site, "db", out, "dy", gradient);
  detail::Backend<Where, op::linear>::bias_gradient(workspace, site, shape, static_cast<const TY*>(gradient.data()), out.data(),
                                                    accumulate);
  trace_call<Policy, detail::linear_bias, TracedPass::bias_gradient, TB(TY)>();
}

}  // namespace mezzo
