#pragma once
// The product of two matrices: C[m, n] = A[m, k] B[k, n], row-major, either operand stored transposed if need be.

#include <source_location>

#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/gemm.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/lower_precision.hpp>

namespace mezzo {

namespace detail {

struct GemmCounts {
  std::size_t a, b, c;
};

inline GemmCounts check_shape(const OpSite& site, const GemmShape& shape) {
  check_at_least(site, "m", shape.m, 0);
  check_at_least(site, "n", shape.n, 0);
  check_at_least(site, "k", shape.k, 0);
  return {.a = element_count(site, "a", {shape.m, shape.k}),
          .b = element_count(site, "b", {shape.k, shape.n}),
          .c = element_count(site, "c", {shape.m, shape.n})};
}

}  // namespace detail

/// Bytes of scratch for a product of this shape with operands of type T.
///
/// Host: what it needs; with less a call throws. Where the operands differ in type (a policy that lets them pass) give
/// T = float16, and twice the bytes if one of them is double: room for blocks of all three in the type of the sum.
/// CUDA: what cuBLAS recommends, for any T. With less, also with none, a call does not throw, but fewer kernels are there to
/// choose from; and a 16-bit c that a bias or its old value joins needs room for the sums of a row, 8 n bytes and 512 for
/// alignment, without which it runs on a plain kernel, many times slower.
template <Element T, Executor Where>
[[nodiscard]] std::size_t matmul_workspace_bytes(const Where& executor, const GemmShape& shape,
                                                 std::source_location where = std::source_location::current()) {
  detail::check_shape({"matmul_workspace_bytes", where}, shape);
  return detail::Backend<Where, op::matmul>::template workspace_bytes<T>(executor, shape);
}

/// Plans a product of this shape with results in T and float, with bias or accumulation or without: on the host nothing, on CUDA
/// the kernels to run. May allocate and wait.
///
/// The plans hold for operands a and b of type T, for operands that are all aligned to 16 bytes, for the size of this workspace
/// and for the Float32Math that is set now. Other calls plan at their first run.
/// @throws InvalidArgument for a negative side; StateError while the stream is being captured; OutOfMemory; CudaError.
template <Element T, Executor Where>
void matmul_prepare(Workspace<Where>& workspace, const GemmShape& shape,
                    std::source_location where = std::source_location::current()) {
  detail::check_shape({"matmul_prepare", where}, shape);
  detail::Backend<Where, op::matmul>::template prepare<T>(workspace, shape, where);
}

/// C = A B: summed in float (double for double operands), rounded once. With k = 0 the product is zero.
///
/// @param a [m, k], or [k, m] when transposed; the policy's type for matmul.
/// @param b [k, n], or [n, k] when transposed; the same.
/// @param c [m, n]; the policy's result type, or float, which keeps the sum unrounded; must not overlap a or b.
/// @param accumulate yes: added to what c holds.
/// Queued on the workspace's executor. What matmul_prepare planned neither waits nor allocates; anything else plans at its
/// first call on CUDA, which may do both.
/// @throws InvalidArgument for a negative side, a size that does not match the shape, overlap, or (host) too small a workspace.
/// @throws StateError when a plan would be made while the stream is being captured; CudaError when a library or a launch fails.
/// Source: torch.matmul of two matrices.
template <class Policy, Executor Where, ContiguousRange A, ContiguousRange B, ContiguousRange C>
void matmul(Workspace<Where>& workspace, const GemmShape& shape, A&& a, B&& b, C&& c, Accumulate accumulate = Accumulate::no,
            std::source_location where = std::source_location::current()) {
  using TA = detail::element_of_t<A>;
  using TB = detail::element_of_t<B>;
  using TC = detail::element_of_t<C>;
  static_assert(detail::hold_elements<A, B, C>,
    "matmul: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<C>, "matmul: c is written, so its elements must not be const.");
  static_assert(detail::reads_as_is<Policy, op::matmul, TA, TB> && detail::reads_as_is<Policy, op::matmul, TB, TA>,
    "matmul: under this policy a and b must have another element type: argument_type_t<Policy, op::matmul, A, B>. A cast of "
    "whole operands is never hidden in an op: pass the parameter's low-precision copy, or convert the data once before.");
  static_assert(std::is_same_v<TC, result_type_t<Policy, op::matmul, TA, TB>> || std::is_same_v<TC, detail::accumulation_t<TA, TB>>,
    "matmul: c must have the element type that the policy returns (result_type_t<Policy, op::matmul, A, B>), or float, the type "
    "of the sum.");
  const detail::OpSite site{"matmul", where};
  const auto counts = detail::check_shape(site, shape);
  const auto left = as_span(a);
  const auto right = as_span(b);
  const auto out = as_span(c);
  detail::check_size(site, "a", left, counts.a);
  detail::check_size(site, "b", right, counts.b);
  detail::check_size(site, "c", out, counts.c);
  detail::check_apart(site, "c", out, "a", left);
  detail::check_apart(site, "c", out, "b", right);
  if (counts.c == 0) return;
  detail::Backend<Where, op::matmul>::run(workspace, site.op, shape, static_cast<const TA*>(left.data()),
                                          static_cast<const TB*>(right.data()), static_cast<const float*>(nullptr), out.data(),
                                          accumulate, where);
  trace_call<Policy, op::matmul, TracedPass::forward, TC(TA, TB)>();
}

}  // namespace mezzo
