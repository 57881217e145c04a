#pragma once
// No loss scaling, with the members of a scaler: for float32 and bfloat16 training with one training loop.

#include <mezzo/loss_scale/loss_scaler.hpp>

namespace mezzo {

/// A scaler whose scale is 1. With `Check::none` it has no state and queues no kernel of its own; with
/// `Check::skip_nonfinite` it checks gradients, skips steps and counts.
template <Check Checks>
class UnitLossScaler : public LossScalerBase {
 public:
  template <Executor E>
  explicit UnitLossScaler(const E& executor, std::source_location where = std::source_location::current())
      : LossScalerBase(executor, {.init_scale = 1.f}, false, Checks, std::nullopt, where) {}

  template <Executor E>
  UnitLossScaler(const E& executor, Span<std::byte> storage, std::source_location where = std::source_location::current())
      : LossScalerBase(executor, {.init_scale = 1.f}, false, Checks, storage, where) {}

  /// The same scaler with the other way of checking: `NoLossScaler::with<Check::skip_nonfinite>`.
  template <Check Other>
  using with = UnitLossScaler<Other>;
};

/// Checks nothing: a non-finite gradient reaches the weights, except that a step clipped to a non-finite norm is skipped.
using NoLossScaler = UnitLossScaler<Check::none>;
static_assert(LossScaler<NoLossScaler> && LossScaler<NoLossScaler::with<Check::skip_nonfinite>>);

}  // namespace mezzo
