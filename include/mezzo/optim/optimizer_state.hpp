#pragma once
// The state of an optimizer besides its masters and moments: a plain value that a checkpoint stores and a log prints.

#include <cstdint>

namespace mezzo {

/// An optimizer's counters and what its last check found. Trivially copyable; every field survives a round trip.
struct OptimizerState {
  std::uint64_t applied_steps = 0;  ///< steps that changed the weights; bias corrections and schedule follow from it
  std::uint64_t skipped_steps = 0;  ///< steps that a non-finite gradient stopped
  double gradient_norm = 0;         ///< of the unscaled gradients, at the last `unscale` or `clip_grad_norm`
  float clip_factor = 1.f;          ///< of the last step
  float schedule_factor = 1.f;      ///< of the last step; times a group's lr this is the learning rate it ran with
  friend bool operator==(const OptimizerState&, const OptimizerState&) = default;
};

}  // namespace mezzo
