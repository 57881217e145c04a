#include <mezzo/loss_scale/static.hpp>

#include "loss_scale/support.hpp"
#include "support/executors.hpp"
#include "support/message.hpp"

namespace {

using mezzo::StaticLossScaler;
using mezzo::test::Buffer;
using mezzo::test::iterate;

static_assert(!std::is_copy_constructible_v<StaticLossScaler<128.f>> && std::is_nothrow_move_constructible_v<StaticLossScaler<128.f>>);
static_assert(!std::is_same_v<StaticLossScaler<1.1f>, StaticLossScaler<1.1000001f>>, "the argument is the value, not its decimals");

TEST_CASE_TEMPLATE("the_argument_is_the_factor_itself", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const StaticLossScaler<16.f> scaler(executor);
  CHECK(scaler.state().scale == 16.f);
  CHECK(scaler.config().init_scale == 16.f);
  const Buffer<float> out(executor, 2);
  run_once(executor, mezzo::test::ReadView{scaler.device_view(), out.data()});
  CHECK(out.read() == std::vector<float>{16.f, 1.f / 16.f});
}

TEST_CASE_TEMPLATE("the_scale_never_changes_and_skips_are_counted", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  StaticLossScaler<128.f> scaler(executor);
  for (int i = 0; i < 30; ++i) iterate(executor, scaler, i % 3 == 0);
  const mezzo::LossScaleState state = scaler.state();
  CHECK(state.scale == 128.f);
  CHECK(state.applied_steps == 20);
  CHECK(state.skipped_steps == 10);
  CHECK(state.consecutive_skips == 0);
  CHECK(state.growth_tracker == 0);
  CHECK(state.hysteresis_tracker == 0);
  iterate(executor, scaler, true);
  iterate(executor, scaler, true);
  CHECK(scaler.state().consecutive_skips == 2);
}

TEST_CASE_TEMPLATE("counters_survive_a_round_trip_and_another_scale_is_refused", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  StaticLossScaler<128.f> scaler(executor), other(executor);
  for (int i = 0; i < 5; ++i) iterate(executor, scaler, i > 2);
  other.load_state(scaler.state());
  CHECK(other.state() == scaler.state());
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, other.load_state({.scale = 64.f})) == "load_state: the scale of a static scaler is 128, got 64");
  CHECK(other.state() == scaler.state());
}

TEST_CASE_TEMPLATE("it_lives_in_memory_that_the_user_lends", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const mezzo::Memory memory(executor, StaticLossScaler<128.f>::storage_bytes());
  StaticLossScaler<128.f> scaler(executor, mezzo::Span<std::byte>(memory.data(), memory.size()));
  iterate(executor, scaler, true);
  CHECK(scaler.state().skipped_steps == 1);
}

}  // namespace
