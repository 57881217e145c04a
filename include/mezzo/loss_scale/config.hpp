#pragma once
// What configures a dynamic loss scaler, and the rules its values must keep.

#include <bit>
#include <cstdint>
#include <source_location>

#include <mezzo/core/error.hpp>

namespace mezzo {

/// What sets the count of overflows back that `hysteresis` waits for.
enum class HysteresisReset : std::uint8_t {
  clean_step,  ///< growth, backoff, and every clean step: only overflows in a row lower the scale
  growth       ///< growth alone: once `hysteresis` overflows were seen, each further one lowers the scale until the next growth
};

/// Limits of any loss scale. At 2^127 the reciprocal is subnormal and is flushed to zero in fast-math builds; at 2^-128 it
/// is infinite.
inline constexpr float smallest_loss_scale = 0x1p-126f;
inline constexpr float largest_loss_scale = 0x1p126f;

/// Configuration of DynamicLossScaler; a structural type, so a `constexpr` value is a template argument.
/// Defaults and behaviour are those of torch.amp's GradScaler; the last four fields are off unless set.
struct LossScaleConfig {
  float init_scale = 65536.f;                ///< in [min_scale, max_scale]
  float growth_factor = 2.f;                 ///< > 1
  float backoff_factor = .5f;                ///< in (0, 1)
  std::int32_t growth_interval = 2000;       ///< clean steps in a row before the scale grows; >= 1
  std::int32_t hysteresis = 1;               ///< overflows it takes before the scale backs off; 0 and 1: the first does
  HysteresisReset hysteresis_reset = HysteresisReset::clean_step;
  float min_scale = smallest_loss_scale;     ///< >= 2^-126; backoff stops here
  float max_scale = largest_loss_scale;      ///< <= 2^126; growth stops here
  std::int32_t max_consecutive_skips = 0;    ///< skips in a row that are reported in LossScaleState; 0: no limit

  friend bool operator==(const LossScaleConfig&, const LossScaleConfig&) = default;
};

namespace detail {

/// True for a positive finite float; by bits, so that it holds under -ffast-math.
constexpr bool is_positive_finite(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits != 0 && bits < 0x7f800000U;
}

constexpr bool is_valid_loss_scale(float scale) {
  return is_positive_finite(scale) && scale >= smallest_loss_scale && scale <= largest_loss_scale;
}

/// The first rule that `config` breaks, or null. One set of rules for compile time and run time.
constexpr const char* broken_rule(const LossScaleConfig& config) {
  if (!is_positive_finite(config.growth_factor) || config.growth_factor <= 1.f) return "growth_factor must be finite and exceed 1";
  if (!is_positive_finite(config.backoff_factor) || config.backoff_factor >= 1.f) return "backoff_factor must lie in (0, 1)";
  if (config.growth_interval < 1) return "growth_interval must be at least 1";
  if (config.hysteresis < 0) return "hysteresis must not be negative";
  if (!is_valid_loss_scale(config.min_scale)) return "min_scale must lie in [2^-126, 2^126]";
  if (!is_valid_loss_scale(config.max_scale)) return "max_scale must lie in [2^-126, 2^126]";
  if (!is_positive_finite(config.init_scale)) return "init_scale must be positive and finite";
  if (config.min_scale > config.init_scale) return "min_scale must not exceed init_scale";
  if (config.init_scale > config.max_scale) return "init_scale must not exceed max_scale";
  if (config.max_consecutive_skips < 0) return "max_consecutive_skips must not be negative";
  return nullptr;
}

}  // namespace detail

/// Refuses a configuration that breaks a rule, naming it. @throws InvalidArgument.
inline void validate(const LossScaleConfig& config, std::source_location where = std::source_location::current()) {
  if (const char* const rule = detail::broken_rule(config)) {
    fail<InvalidArgument>(where, "LossScaleConfig", rule, "; got init_scale ", config.init_scale, ", growth_factor ",
                          config.growth_factor, ", backoff_factor ", config.backoff_factor, ", growth_interval ",
                          config.growth_interval, ", hysteresis ", config.hysteresis, ", min_scale ", config.min_scale,
                          ", max_scale ", config.max_scale, ", max_consecutive_skips ", config.max_consecutive_skips);
  }
}

}  // namespace mezzo
