#pragma once
// Softmax cross-entropy on the host: one pass over each row's logits while they are in the cache.

#include <cmath>
#include <cstdint>

#include <mezzo/core/error.hpp>
#include <mezzo/executor/host.hpp>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/loss_multiplier.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/named_spans.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/float32.hpp>

namespace mezzo::detail {

template <>
struct Backend<HostExecutor, op::cross_entropy> {
  static void prepare(const Workspace<HostExecutor>&, const OpSite&) {}  // nothing is kept on the host

  /// `gradient` may be null: only the result is wanted.
  template <class T, class Label, class Sum, class G, class Multiplier>
  static void run(Workspace<HostExecutor>&, const ClassificationShape& shape, const T* logits, const Label* labels,
                  const LossResult<Sum>& result, G* gradient, const Multiplier& multiplier, Accumulate accumulate,
                  const OpSite& site) {
    for (std::int64_t row = 0; row < shape.batch; ++row) {  // before anything is written
      const auto label = static_cast<std::int64_t>(labels[row]);
      if (label < 0 || label >= shape.classes) {
        fail<InvalidArgument>(site.where, site.op, "labels[", row, "] must be in [0, ", shape.classes, "), got ", label);
      }
    }
    const double rows = static_cast<double>(shape.mean_over != 0 ? shape.mean_over : shape.batch);
    // One factor, rounded once: with a power of two as the scale it is exactly that power times the unscaled one.
    const Sum factor = static_cast<Sum>(static_cast<double>(multiplier_of(multiplier)) / rows);
    double loss = 0;
    std::int32_t correct = 0;
    for (std::int64_t row = 0; row < shape.batch; ++row) {
      const T* const values = logits + row * shape.classes;
      const auto label = static_cast<std::int64_t>(labels[row]);
      std::int64_t best = 0;
      Sum largest = convert<Sum>(values[0]);
      for (std::int64_t i = 1; i < shape.classes; ++i) {
        const Sum value = convert<Sum>(values[i]);
        if (value > largest) largest = value, best = i;
      }
      Sum sum{0};
      for (std::int64_t i = 0; i < shape.classes; ++i) sum += std::exp(convert<Sum>(values[i]) - largest);
      loss += static_cast<double>(std::log(sum) - (convert<Sum>(values[label]) - largest));
      correct += best == label ? 1 : 0;
      if (gradient == nullptr) continue;
      for (std::int64_t i = 0; i < shape.classes; ++i) {
        const Sum probability = std::exp(convert<Sum>(values[i]) - largest) / sum;
        gradient[row * shape.classes + i] = convert<G>((probability - (i == label ? Sum{1} : Sum{0})) * factor);
      }
    }
    const bool add = accumulate == Accumulate::yes;
    if (result.loss.size() != 0) {
      const double mean = shape.batch != 0 ? loss / rows : 0;
      result.loss[0] = static_cast<Sum>((add ? static_cast<double>(result.loss[0]) : 0) + mean);
    }
    if (result.correct.size() != 0) result.correct[0] = (add ? result.correct[0] : 0) + correct;
  }
};

}  // namespace mezzo::detail
