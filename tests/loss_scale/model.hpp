// The scaler's rules in forty lines of their own.
#pragma once

#include <mezzo/loss_scale/state.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace loss_scale_model {

/// One field after the other as the documentation has them; counts in 64 bits.
struct Model {
  mezzo::LossScaleConfig config;
  mezzo::LossScaleState state;

  static std::int32_t one_more(std::int32_t count) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(std::int64_t{count} + 1, 2147483647));
  }
  float times(float factor) const { return static_cast<float>(static_cast<double>(state.scale) * static_cast<double>(factor)); }

  void step(bool overflow) { overflow ? skip() : apply(); }

  void skip() {
    const bool longest_known = state.consecutive_skips == 2147483647;
    state.skipped_steps += 1;
    state.consecutive_skips = one_more(state.consecutive_skips);
    if (!longest_known && state.consecutive_skips == config.max_consecutive_skips) state.skip_limit_reports += 1;
    if (state.scale == config.min_scale) state.skips_at_min_scale += 1;
    state.growth_tracker = 0;
    state.hysteresis_tracker = one_more(state.hysteresis_tracker);
    if (state.hysteresis_tracker < std::max(config.hysteresis, 1)) return;
    state.scale = std::max(times(config.backoff_factor), config.min_scale);
    if (config.hysteresis_reset != mezzo::HysteresisReset::growth) state.hysteresis_tracker = 0;
  }

  void apply() {
    state.applied_steps += 1;
    state.consecutive_skips = 0;
    if (config.hysteresis_reset != mezzo::HysteresisReset::growth) state.hysteresis_tracker = 0;
    if (std::int64_t{state.growth_tracker} + 1 < config.growth_interval) {
      state.growth_tracker += 1;
      return;
    }
    state.growth_tracker = 0;
    state.hysteresis_tracker = 0;
    state.scale = std::min(times(config.growth_factor), config.max_scale);
  }
};

}  // namespace loss_scale_model
