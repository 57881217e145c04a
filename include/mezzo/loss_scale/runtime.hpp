#pragma once
// The dynamic loss scaler with a configuration that is known at run time only: from a command line or a file.

#include <mezzo/loss_scale/loss_scaler.hpp>

namespace mezzo {

/// DynamicLossScaler with its configuration as a value. The same rules, checked at construction.
class RuntimeLossScaler : public LossScalerBase {
 public:
  /// @throws InvalidArgument naming the rule that `config` breaks; OutOfMemory.
  template <Executor E>
  RuntimeLossScaler(const E& executor, const LossScaleConfig& config, std::source_location where = std::source_location::current())
      : LossScalerBase(executor, checked(config, where), true, Check::skip_nonfinite, std::nullopt, where) {}

  template <Executor E>
  RuntimeLossScaler(const E& executor, const LossScaleConfig& config, Span<std::byte> storage,
                    std::source_location where = std::source_location::current())
      : LossScalerBase(executor, checked(config, where), true, Check::skip_nonfinite, storage, where) {}

 private:
  static const LossScaleConfig& checked(const LossScaleConfig& config, std::source_location where) {
    validate(config, where);
    return config;
  }
};
static_assert(LossScaler<RuntimeLossScaler>);

}  // namespace mezzo
