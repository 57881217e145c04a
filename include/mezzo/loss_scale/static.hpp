#pragma once
// The static loss scaler: one scale for ever.

#include <mezzo/loss_scale/loss_scaler.hpp>

namespace mezzo {

/// Loss scaler with a constant scale: `StaticLossScaler<128.f>` multiplies the loss by 128. A step with a non-finite gradient
/// is skipped and counted; the scale never changes.
template <float Scale>
class StaticLossScaler : public LossScalerBase {
  static_assert(detail::is_valid_loss_scale(Scale),
                "StaticLossScaler: the scale must lie in [2^-126, 2^126]; it is the factor itself, not its exponent "
                "(loss_scale/static.hpp).");

 public:
  template <Executor E>
  explicit StaticLossScaler(const E& executor, std::source_location where = std::source_location::current())
      : LossScalerBase(executor, {.init_scale = Scale}, false, Check::skip_nonfinite, std::nullopt, where) {}

  template <Executor E>
  StaticLossScaler(const E& executor, Span<std::byte> storage, std::source_location where = std::source_location::current())
      : LossScalerBase(executor, {.init_scale = Scale}, false, Check::skip_nonfinite, storage, where) {}
};
static_assert(LossScaler<StaticLossScaler<128.f>>);

}  // namespace mezzo
