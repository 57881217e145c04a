#pragma once
// The scaler's state machine: one pure function, run where the state is.

#include <mezzo/loss_scale/state.hpp>
#include <mezzo/numeric/arithmetic.hpp>

namespace mezzo {

/// The state after a step that saw an overflow, or none.
///
/// Scale and growth tracker are those of torch.amp's `_amp_update_scale_` bit for bit (products in double, rounded once)
/// while the scale is inside the configured limits and the factors are floats (torch multiplies by double 1.1, this by 1.1f),
/// except that the scale grows when the tracker *reaches* the interval,
/// so that a lowered interval or a larger loaded tracker works.
MEZZO_HOST_DEVICE constexpr LossScaleState updated(LossScaleState state, const LossScaleConfig& config, bool overflow) {
  const auto scaled = [&state](float factor) {
    return exact::to_float(exact::mul(exact::to_double(state.scale), exact::to_double(factor)));
  };
  constexpr auto highest = 0x7fffffff;
  if (overflow) {
    ++state.skipped_steps;
    if (state.consecutive_skips < highest && ++state.consecutive_skips == config.max_consecutive_skips) ++state.skip_limit_reports;
    if (state.scale <= config.min_scale) ++state.skips_at_min_scale;
    state.growth_tracker = 0;
    if (state.hysteresis_tracker < highest) ++state.hysteresis_tracker;
    if (state.hysteresis_tracker >= config.hysteresis) {
      const float lowered = scaled(config.backoff_factor);
      state.scale = lowered > config.min_scale ? lowered : config.min_scale;
      if (config.hysteresis_reset == HysteresisReset::clean_step) state.hysteresis_tracker = 0;
    }
  } else {
    ++state.applied_steps;
    state.consecutive_skips = 0;
    if (config.hysteresis_reset == HysteresisReset::clean_step) state.hysteresis_tracker = 0;
    if (state.growth_tracker >= config.growth_interval - 1) {
      const float raised = scaled(config.growth_factor);
      state.scale = raised < config.max_scale ? raised : config.max_scale;
      state.growth_tracker = 0;
      state.hysteresis_tracker = 0;
    } else {
      ++state.growth_tracker;
    }
  }
  return state;
}

/// 1 / scale, in double and rounded once, as torch does.
MEZZO_HOST_DEVICE constexpr float inverse_of(float scale) {
  return exact::to_float(exact::div(1.0, exact::to_double(scale)));
}

}  // namespace mezzo
