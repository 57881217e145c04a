#pragma once
// The dynamic loss scaler: grows while gradients stay finite, backs off when they overflow.

#include <mezzo/loss_scale/loss_scaler.hpp>

namespace mezzo {

/// Loss scaler whose scale follows the gradients, configured at compile time; all its state lives with the executor.
///
///     constexpr LossScaleConfig config{.init_scale = 1024.f, .growth_interval = 500};
///     DynamicLossScaler<config> scaler{executor};
///
/// Construction queues the initial state and does not wait. @throws OutOfMemory.
template <LossScaleConfig Config = LossScaleConfig{}>
class DynamicLossScaler : public LossScalerBase {
  static_assert(detail::is_positive_finite(Config.growth_factor) && Config.growth_factor > 1.f,
                "LossScaleConfig: growth_factor must be finite and exceed 1, or the scale never grows (loss_scale/config.hpp).");
  static_assert(detail::is_positive_finite(Config.backoff_factor) && Config.backoff_factor < 1.f,
                "LossScaleConfig: backoff_factor must lie in (0, 1), or an overflow never ends (loss_scale/config.hpp).");
  static_assert(Config.growth_interval >= 1, "LossScaleConfig: growth_interval must be at least 1 (loss_scale/config.hpp).");
  static_assert(Config.hysteresis >= 0, "LossScaleConfig: hysteresis must not be negative (loss_scale/config.hpp).");
  static_assert(detail::is_valid_loss_scale(Config.min_scale),
                "LossScaleConfig: min_scale must lie in [2^-126, 2^126]; below, 1 / scale is infinite (loss_scale/config.hpp).");
  static_assert(detail::is_valid_loss_scale(Config.max_scale),
                "LossScaleConfig: max_scale must lie in [2^-126, 2^126]; above, 1 / scale is subnormal and fast-math builds flush "
                "it to zero (loss_scale/config.hpp).");
  static_assert(detail::is_positive_finite(Config.init_scale) && Config.min_scale <= Config.init_scale &&
                    Config.init_scale <= Config.max_scale,
                "LossScaleConfig: init_scale must lie in [min_scale, max_scale] (loss_scale/config.hpp).");
  static_assert(Config.max_consecutive_skips >= 0,
                "LossScaleConfig: max_consecutive_skips must not be negative; 0 means no limit (loss_scale/config.hpp).");

 public:
  template <Executor E>
  explicit DynamicLossScaler(const E& executor, std::source_location where = std::source_location::current())
      : LossScalerBase(executor, Config, true, Check::skip_nonfinite, std::nullopt, where) {}

  /// In memory of the user's: `storage_bytes()` of the executor's, aligned to 16, which must outlive the scaler.
  template <Executor E>
  DynamicLossScaler(const E& executor, Span<std::byte> storage, std::source_location where = std::source_location::current())
      : LossScalerBase(executor, Config, true, Check::skip_nonfinite, storage, where) {}
};
static_assert(LossScaler<DynamicLossScaler<>>);

}  // namespace mezzo
