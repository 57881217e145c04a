#pragma once
// The state of a loss scaler: a plain value that a checkpoint stores and a log prints.

#include <cstdint>

#include <mezzo/loss_scale/config.hpp>

namespace mezzo {

/// Everything that a scaler carries from one step to the next. Trivially copyable; every field survives a round trip.
struct LossScaleState {
  float scale = 1.f;                       ///< factor on the loss
  std::int32_t growth_tracker = 0;         ///< clean steps since the scale last changed or a step was skipped
  std::int32_t hysteresis_tracker = 0;     ///< overflows that count towards the next backoff
  std::int32_t consecutive_skips = 0;      ///< skipped steps in a row, up to now
  std::uint64_t applied_steps = 0;         ///< updates whose gradients were all finite
  std::uint64_t skipped_steps = 0;         ///< updates that saw an overflow
  std::uint64_t skips_at_min_scale = 0;    ///< overflows that found the scale at min_scale already
  std::uint64_t skip_limit_reports = 0;    ///< times that max_consecutive_skips was reached; once for each such run

  friend bool operator==(const LossScaleState&, const LossScaleState&) = default;
};

/// Refuses a state that no scaler can be in. @throws InvalidArgument.
inline void validate(const LossScaleState& state, std::source_location where = std::source_location::current()) {
  require(detail::is_valid_loss_scale(state.scale), where, "LossScaleState", "scale must lie in [2^-126, 2^126]", state.scale);
  require(state.growth_tracker >= 0, where, "LossScaleState", "growth_tracker must not be negative", state.growth_tracker);
  require(state.hysteresis_tracker >= 0, where, "LossScaleState", "hysteresis_tracker must not be negative", state.hysteresis_tracker);
  require(state.consecutive_skips >= 0, where, "LossScaleState", "consecutive_skips must not be negative", state.consecutive_skips);
}

}  // namespace mezzo
