#include <mezzo/optim/optimizer_state.hpp>

#include <type_traits>

#include "support/executors.hpp"

namespace optimizer_state_test {

using namespace mezzo;

TEST_CASE_TEMPLATE("every_field_survives_a_round_trip", E, MEZZO_TEST_EXECUTORS) {
  static_assert(std::is_trivially_copyable_v<OptimizerState>);
  MEZZO_TEST_EXECUTOR(E, executor);
  MasterOptimizer<Sgd, float> optimizer{executor, {}, Sgd::Options{}};
  const OptimizerState loaded{.applied_steps = 3, .skipped_steps = 5, .gradient_norm = 7.5, .clip_factor = .25f, .schedule_factor = .125f};
  optimizer.load_state(loaded);
  const OptimizerState state = optimizer.state();
  const auto& [applied, skipped, norm, clip, schedule] = state;  // a field more does not compile: test it here
  CHECK(applied == 3);
  CHECK(skipped == 5);
  CHECK(norm == 7.5);
  CHECK(clip == .25f);
  CHECK(schedule == .125f);
}

TEST_CASE_TEMPLATE("the_counters_tell_applied_from_skipped_steps_and_the_schedule_moves_with_the_applied", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const test::Buffer<float> weights(executor, std::vector<float>{1.f});
  test::Buffer<float> gradients(executor, std::vector<float>{1.f});
  MasterOptimizer<Sgd, float> optimizer{executor, {{weights.span(), gradients.span()}}, Sgd::Options{.lr = .5f}};
  optimizer.set_schedule(linear_schedule(4));
  StaticLossScaler<1.f> scaler{executor};
  scaler.step(optimizer);
  scaler.update();
  gradients.write({element_limits<float>::infinity()});
  scaler.step(optimizer);
  scaler.update();
  gradients.write({1.f});
  scaler.step(optimizer);
  const OptimizerState state = optimizer.state();
  CHECK(state.applied_steps == 2);
  CHECK(state.skipped_steps == 1);
  CHECK(state.schedule_factor == .75f);
  CHECK(weights.read()[0] == 1.f - .5f * 1.f - .5f * .75f);
}

}  // namespace optimizer_state_test
