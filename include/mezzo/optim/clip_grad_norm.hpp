#pragma once
// Clipping by global norm.

#include <mezzo/loss_scale/loss_scaler.hpp>

namespace mezzo {

/// Makes the next step of `optimizer` use gradients scaled down to a norm of `max_norm` if theirs is larger.
///
/// The norm is over all of the optimizer's gradients, of the unscaled values, in double. The factor
/// `min(1, max_norm / (norm + 1e-6))` is applied in registers: gradients in memory stay as they are. Right with or without
/// `unscale` before it; without, this call queues the check that `step` would. A norm that is not finite skips the step.
/// @param max_norm positive and finite.
/// @throws InvalidArgument for another max_norm, StateError after `step`; nothing is queued. Queued; does not wait.
/// Source: torch.nn.utils.clip_grad_norm_.
template <LossScaler Scaler, ScalableOptimizer Optimizer>
void clip_grad_norm(Scaler& scaler, Optimizer& optimizer, float max_norm,
                    std::source_location where = std::source_location::current()) {
  scaler.clip(optimizer, max_norm, where);
}

}  // namespace mezzo
