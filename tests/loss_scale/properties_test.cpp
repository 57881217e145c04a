#include <mezzo/loss_scale/runtime.hpp>

#include <cmath>
#include <vector>

#include <mezzo/executor/host.hpp>

#include "loss_scale/model.hpp"
#include <rapidcheck.h>

#include "support/property.hpp"

namespace {

using mezzo::HysteresisReset;
using mezzo::LossScaleConfig;
using mezzo::LossScaleState;
using mezzo::updated;
using mezzo::test::holds_for_all;

LossScaleConfig any_config() {
  const float low = std::ldexp(1.f, *rc::gen::inRange(-126, 20)), high = std::ldexp(1.f, *rc::gen::inRange(20, 127));
  return {.init_scale = 0x1p20f,
          .growth_factor = 1.f + static_cast<float>(*rc::gen::inRange(1, 40)) / 8.f,
          .backoff_factor = static_cast<float>(*rc::gen::inRange(1, 100)) / 100.f,
          .growth_interval = *rc::gen::inRange(1, 6),
          .hysteresis = *rc::gen::inRange(0, 4),
          .hysteresis_reset = *rc::gen::arbitrary<bool>() ? HysteresisReset::growth : HysteresisReset::clean_step,
          .min_scale = low,
          .max_scale = high,
          .max_consecutive_skips = *rc::gen::inRange(0, 4)};
}
LossScaleState run(LossScaleState state, const LossScaleConfig& config, const std::vector<bool>& overflows) {
  for (const bool overflow : overflows) state = updated(state, config, overflow);
  return state;
}
LossScaleState start(const LossScaleConfig& config) { return {.scale = config.init_scale}; }

TEST_CASE("every_configuration_that_keeps_the_rules_is_accepted_and_equals_the_model") {
  holds_for_all([](const std::vector<bool>& overflows) {
    const LossScaleConfig config = any_config();
    validate(config);
    LossScaleState state = start(config);
    loss_scale_model::Model model{config, state};
    for (const bool overflow : overflows) {
      state = updated(state, config, overflow);
      model.step(overflow);
      RC_ASSERT(state == model.state);
    }
  });
}

TEST_CASE("the_scale_stays_between_the_limits_and_its_inverse_normal") {
  holds_for_all([](const std::vector<bool>& overflows) {
    const LossScaleConfig config = any_config();
    LossScaleState state = start(config);
    for (const bool overflow : overflows) {
      state = updated(state, config, overflow);
      RC_ASSERT(state.scale >= config.min_scale);
      RC_ASSERT(state.scale <= config.max_scale);
      RC_ASSERT(std::isnormal(mezzo::inverse_of(state.scale)));
    }
  });
}

TEST_CASE("every_step_is_counted_once_and_the_tracker_stays_below_the_interval") {
  holds_for_all([](const std::vector<bool>& overflows) {
    const LossScaleConfig config = any_config();
    LossScaleState state = start(config);
    std::uint64_t steps = 0;
    for (const bool overflow : overflows) {
      state = updated(state, config, overflow);
      RC_ASSERT(state.applied_steps + state.skipped_steps == ++steps);
      RC_ASSERT(state.growth_tracker < config.growth_interval);
      RC_ASSERT((state.consecutive_skips == 0) == !overflow);
    }
  });
}

TEST_CASE("overflows_never_raise_the_scale_and_clean_steps_never_lower_it") {
  holds_for_all([](const std::vector<bool>& overflows) {
    const LossScaleConfig config = any_config();
    LossScaleState state = start(config);
    for (const bool overflow : overflows) {
      const float before = state.scale;
      state = updated(state, config, overflow);
      RC_ASSERT((overflow ? state.scale <= before : state.scale >= before));
    }
  });
}

TEST_CASE("a_run_saved_and_loaded_at_any_step_equals_one_that_never_stopped") {
  holds_for_all([](const std::vector<bool>& overflows) {
    const mezzo::HostExecutor executor;
    const LossScaleConfig config = any_config();
    const auto at = *rc::gen::inRange<std::size_t>(0, overflows.size() + 1);
    mezzo::RuntimeLossScaler first(executor, config);
    const auto iterate = [](mezzo::RuntimeLossScaler& scaler, bool overflow) {
      if (overflow) scaler.device_view().report_overflow();
      scaler.assume_checked();
      scaler.update();
    };
    for (std::size_t i = 0; i < at; ++i) iterate(first, overflows[i]);
    mezzo::RuntimeLossScaler second(executor, config);
    second.load_state(first.state());
    for (std::size_t i = at; i < overflows.size(); ++i) iterate(second, overflows[i]);
    RC_ASSERT(second.state() == run(start(config), config, overflows));
  });
}

TEST_CASE("unscaling_undoes_scaling_by_a_power_of_two") {
  holds_for_all([](const std::vector<std::int16_t>& numbers) {
    mezzo::RuntimeLossScaler scaler(mezzo::HostExecutor{}, {.init_scale = std::ldexp(1.f, *rc::gen::inRange(-60, 60))});
    std::vector<float> values(numbers.begin(), numbers.end()), scaled(numbers.size());
    scaler.scale(values, scaled);
    scaler.unscale(scaled);
    RC_ASSERT(scaled == values);
    scaler.update();
    RC_ASSERT(scaler.state().skipped_steps == 0u);
  });
}

}  // namespace
