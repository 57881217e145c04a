#include <mezzo/loss_scale/runtime.hpp>

#include <random>

#include "loss_scale/model.hpp"
#include "loss_scale/support.hpp"
#include "support/executors.hpp"
#include "support/message.hpp"

namespace {

using mezzo::LossScaleConfig;
using mezzo::RuntimeLossScaler;
using mezzo::test::iterate;

TEST_CASE_TEMPLATE("a_configuration_of_run_time_follows_the_same_rules", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::mt19937 random(31);
  for (int round = 0; round < 20; ++round) {
    const LossScaleConfig config{.init_scale = std::ldexp(1.f, static_cast<int>(random() % 20)),
                                 .growth_interval = 1 + static_cast<std::int32_t>(random() % 5),
                                 .hysteresis = static_cast<std::int32_t>(random() % 3),
                                 .min_scale = 1.f,
                                 .max_scale = 1048576.f};
    RuntimeLossScaler scaler(executor, config);
    CHECK(scaler.config() == config);
    loss_scale_model::Model model{config, {.scale = config.init_scale}};
    for (int i = 0; i < 50; ++i) {
      const bool overflow = random() % 4 == 0;
      iterate(executor, scaler, overflow);
      model.step(overflow);
    }
    CHECK(scaler.state() == model.state);
  }
}

TEST_CASE("a_broken_rule_is_refused_by_name_before_anything_is_allocated") {
  const mezzo::HostExecutor executor;
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, RuntimeLossScaler(executor, {.growth_factor = .5f})).starts_with("LossScaleConfig: growth_factor must be finite and exceed 1; got"));
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, RuntimeLossScaler(executor, {.min_scale = 0.f})).starts_with("LossScaleConfig: min_scale must lie in [2^-126, 2^126]; got"));
}

TEST_CASE_TEMPLATE("it_lives_in_memory_that_the_user_lends", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const mezzo::Memory memory(executor, RuntimeLossScaler::storage_bytes());
  RuntimeLossScaler scaler(executor, {.init_scale = 8.f}, mezzo::Span<std::byte>(memory.data(), memory.size()));
  iterate(executor, scaler, true);
  CHECK(scaler.state().scale == 4.f);
}

}  // namespace
