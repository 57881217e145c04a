#pragma once
// Softmax cross-entropy of logits and labels, with its scaled gradient in the same pass.
//
//   logits [batch, classes]   any element type, read as they are: the policy's cast to float happens as they are loaded
//   labels [batch]            any integer type, in [0, classes)
//
// Everything is computed in float (double for double logits). Queued on the workspace's executor; needs no scratch. After
// softmax_cross_entropy_prepare no call waits or allocates; without it the first one on CUDA allocates.

#include <concepts>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/loss_multiplier.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/softmax_cross_entropy.hpp>
#include <mezzo/ops/named_spans.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/op/float32.hpp>

namespace mezzo {

namespace detail {

template <class Policy, class T>
constexpr bool loss_in_full_precision = std::is_same_v<compute_type_t<Policy, op::cross_entropy, T>, accumulation_t<T>> ||
                                        !Policy::is_enabled;

inline std::size_t check_shape(const OpSite& site, const ClassificationShape& shape) {
  check_at_least(site, "batch", shape.batch, 0);
  check_at_least(site, "classes", shape.classes, 1);
  if (shape.mean_over != 0) check_at_least(site, "mean_over", shape.mean_over, shape.batch);
  return element_count(site, "logits", {shape.batch, shape.classes});
}

template <class T>
void check_result(const OpSite& site, const LossResult<T>& result) {
  if (result.loss.size() != 0) check_size(site, "loss", result.loss, 1);
  if (result.correct.size() != 0) check_size(site, "correct", result.correct, 1);
}

template <class T>
void check_result_apart(const OpSite& site, const LossResult<T>& result, const Extent& one, const Extent& other) {
  const Extent outputs[] = {Extent("loss", result.loss), Extent("correct", result.correct)};
  const Extent inputs[] = {one, other};
  check_all_apart(site, outputs, inputs);
}

template <class Multiplier>
void check_multiplier(const OpSite& site, const Multiplier& multiplier) {
  if constexpr (std::is_pointer_v<Multiplier>) {
    if (multiplier == nullptr) fail<InvalidArgument>(site.where, site.op, "multiplier must not be null");
  }
}

}  // namespace detail

/// Makes what a loss keeps in the workspace, whatever its shape and type: on CUDA counters and room for partial sums, on the host
/// nothing. May allocate and wait; call it before a capture. It serves softmax_cross_entropy and cross_entropy.
/// @throws InvalidArgument for a shape out of range; StateError while the stream is being captured; OutOfMemory; CudaError.
template <Element T, Executor Where>
void softmax_cross_entropy_prepare(Workspace<Where>& workspace, const ClassificationShape& shape,
                                   std::source_location where = std::source_location::current()) {
  const detail::OpSite site{"softmax_cross_entropy_prepare", where};
  detail::check_shape(site, shape);
  detail::Backend<Where, op::cross_entropy>::prepare(workspace, site);
}

/// The mean loss, the number of correct rows, and the gradient by the logits times a multiplier.
///
/// `loss = sum over rows of (log sum exp(logits) - logits[label]) / rows`,
/// `dlogits[n, c] = (softmax(logits)[n, c] - (c == label[n])) * multiplier / rows`, rounded once to its type; rows is
/// `shape.mean_over`, or the batch.
///
/// @param multiplier the loss scale: a float, a pointer to a float in the executor's memory, or `scaler.device_view()`;
///                   read where the work runs, so that nothing waits for a scale that the device keeps.
/// @param result     where loss and count go; the loss is not scaled.
/// @param dlogits    [batch, classes] of the logits' type or float; may be the logits themselves, must not overlap them
///                   otherwise.
/// @param accumulate yes: loss and count are added to what they hold (gradient accumulation). dlogits is overwritten.
/// Logits that are not finite, as in torch:
/// - a NaN or +inf in a row, or nothing but -inf: the loss and the row's gradient are NaN;
/// - -inf elsewhere (a masked class): probability 0, its gradient is 0, and the others are those of the row without it;
/// - -inf at the label, finite logits beside it: the loss is +inf; the gradient is finite, as the formula gives it.
/// Batch 0: loss and count 0.
/// @throws InvalidArgument for a shape out of range, a size that does not match, overlap; on the host also for a label
/// out of range, naming it (on CUDA, where nothing waits to look, it makes the loss and its row's gradient NaN). Nothing is
/// written then.
/// @throws StateError when the stream is being captured and nothing was prepared; CudaError when a launch fails.
/// Source: torch.nn.functional.cross_entropy(reduction="mean") and its gradient.
template <class Policy, Executor Where, ContiguousRange Logits, ContiguousRange Labels, detail::LossMultiplier Multiplier,
          ContiguousRange DLogits>
void softmax_cross_entropy(Workspace<Where>& workspace, const ClassificationShape& shape, Logits&& logits, Labels&& labels,
                           const Multiplier& multiplier,
                           const LossResult<sum_type_t<Logits>>& result, DLogits&& dlogits,
                           Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<Logits>;
  using G = detail::element_of_t<DLogits>;
  using Label = detail::element_of_t<Labels>;
  static_assert(std::integral<Label>, "softmax_cross_entropy: labels must be integers, the number of each row's class.");
  static_assert(detail::hold_elements<Logits, DLogits>,
    "softmax_cross_entropy: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(detail::writable<DLogits>, "softmax_cross_entropy: dlogits is written, so its elements must not be const.");
  static_assert(detail::loss_in_full_precision<Policy, T>,
    "softmax_cross_entropy: the policy asks for cross_entropy in a 16-bit type, where the sum of exponentials loses the small "
    "classes. Leave op::cross_entropy its rule, float32.");
  static_assert(std::is_same_v<G, T> || std::is_same_v<G, detail::accumulation_t<T>>,
    "softmax_cross_entropy: dlogits must have the element type of the logits, or float.");
  const detail::OpSite site{"softmax_cross_entropy", where};
  const std::size_t count = detail::check_shape(site, shape);
  const auto in = as_span(logits);
  const auto classes = as_span(labels);
  const auto out = as_span(dlogits);
  detail::check_size(site, "logits", in, count);
  detail::check_size(site, "labels", classes, static_cast<std::size_t>(shape.batch));
  detail::check_size(site, "dlogits", out, count);
  detail::check_result(site, result);
  detail::check_apart_or_same(site, "dlogits", out, "logits", in);
  detail::check_result_apart(site, result, detail::Extent("logits", in), detail::Extent("labels", classes));
  detail::check_result_apart(site, result, detail::Extent("dlogits", out), detail::Extent("labels", classes));
  detail::check_apart(site, "dlogits", out, "labels", classes);
  detail::check_multiplier(site, multiplier);
  detail::Backend<Where, op::cross_entropy>::run(workspace, shape, static_cast<const T*>(in.data()),
                                                 static_cast<const Label*>(classes.data()), result, out.data(), multiplier,
                                                 accumulate, site);
  trace_call<Policy, op::cross_entropy, TracedPass::forward, detail::accumulation_t<T>(T, Label)>();
  trace_call<Policy, op::cross_entropy, TracedPass::backward, G(T, Label)>();
}

/// The mean loss and the number of correct rows alone: for evaluation. Otherwise as softmax_cross_entropy, whose preparation
/// serves this too.
/// Source: torch.nn.functional.cross_entropy(reduction="mean").
template <class Policy, Executor Where, ContiguousRange Logits, ContiguousRange Labels>
void cross_entropy(Workspace<Where>& workspace, const ClassificationShape& shape, Logits&& logits, Labels&& labels,
                   const LossResult<sum_type_t<Logits>>& result,
                   Accumulate accumulate = Accumulate::no, std::source_location where = std::source_location::current()) {
  using T = detail::element_of_t<Logits>;
  using Label = detail::element_of_t<Labels>;
  static_assert(detail::hold_elements<Logits>,
    "cross_entropy: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(std::integral<Label>, "cross_entropy: labels must be integers, the number of each row's class.");
  static_assert(detail::loss_in_full_precision<Policy, T>,
    "cross_entropy: the policy asks for cross_entropy in a 16-bit type, where the sum of exponentials loses the small classes. "
    "Leave op::cross_entropy its rule, float32.");
  const detail::OpSite site{"cross_entropy", where};
  const std::size_t count = detail::check_shape(site, shape);
  const auto in = as_span(logits);
  const auto classes = as_span(labels);
  detail::check_size(site, "logits", in, count);
  detail::check_size(site, "labels", classes, static_cast<std::size_t>(shape.batch));
  detail::check_result(site, result);
  detail::check_result_apart(site, result, detail::Extent("logits", in), detail::Extent("labels", classes));
  detail::Backend<Where, op::cross_entropy>::run(workspace, shape, static_cast<const T*>(in.data()),
                                                 static_cast<const Label*>(classes.data()), result, static_cast<T*>(nullptr), 1.f,
                                                 accumulate, site);
  trace_call<Policy, op::cross_entropy, TracedPass::forward, detail::accumulation_t<T>(T, Label)>();
}

}  // namespace mezzo
