#include <mezzo/loss_scale/dynamic.hpp>

#include <cstdint>
#include <random>

#include "executor/counting.hpp"
#include "loss_scale/model.hpp"
#include "loss_scale/support.hpp"
#include "support/executors.hpp"
#include "support/message.hpp"

namespace {

using loss_scale_model::Model;
using mezzo::DynamicLossScaler;
using mezzo::HysteresisReset;
using mezzo::LossScaleConfig;
using mezzo::LossScaleState;
using mezzo::test::Buffer;
using mezzo::test::iterate;

// -- against the model -------------------------------------------------------------------------------------------------------

template <LossScaleConfig Config, class E>
void random_walk(const E& executor, int iterations) {
  std::mt19937 random(29);
  DynamicLossScaler<Config> scaler(executor), loaded(executor);
  Model model{Config, {.scale = Config.init_scale}};
  LossScaleState saved = model.state;
  int differ = 0;
  for (int i = 0; i < iterations; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    if (bits % 97 == 0) saved = scaler.state();
    if (bits % 89 == 0) {
      scaler.load_state(saved);
      model.state = saved;
    }
    if (bits % 83 == 0) {  // go on with another object
      loaded.load_state(scaler.state());
      std::swap(loaded, scaler);
    }
    const bool overflow = (bits >> 16) % 4 == 0;
    iterate(executor, scaler, overflow);
    model.step(overflow);
    differ += scaler.state() != model.state;
  }
  CHECK(differ == 0);
}

constexpr LossScaleConfig quick{.init_scale = 1024.f, .growth_interval = 4};
constexpr LossScaleConfig patient{.init_scale = 1000.f, .growth_factor = 1.7f, .backoff_factor = .3f, .growth_interval = 3, .hysteresis = 2, .max_consecutive_skips = 3};
constexpr LossScaleConfig spent{.growth_interval = 5, .hysteresis = 3, .hysteresis_reset = HysteresisReset::growth, .min_scale = 16.f, .max_scale = 1e6f};

TEST_CASE_TEMPLATE("a_random_run_with_saves_loads_and_swaps_equals_the_model", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  random_walk<LossScaleConfig{}>(executor, 3000);
  random_walk<quick>(executor, 3000);
  random_walk<patient>(executor, 3000);
  random_walk<spent>(executor, 3000);
}

// -- single rules, by example ------------------------------------------------------------------------------------------------

/// The scale after a sequence of `x` (overflow) and `.` (clean).
template <LossScaleConfig Config, class E>
LossScaleState after(const E& executor, const std::string& sequence) {
  DynamicLossScaler<Config> scaler(executor);
  for (const char c : sequence) iterate(executor, scaler, c == 'x');
  return scaler.state();
}

TEST_CASE_TEMPLATE("the_scale_doubles_after_an_interval_of_clean_steps_and_halves_at_an_overflow", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  CHECK(after<quick>(executor, "...").scale == 1024.f);
  CHECK(after<quick>(executor, "....").scale == 2048.f);
  CHECK(after<quick>(executor, "...x...").scale == 512.f);
  CHECK(after<quick>(executor, "...x....").scale == 1024.f);
  CHECK(after<quick>(executor, "...x").growth_tracker == 0);
}

constexpr LossScaleConfig two{.init_scale = 64.f, .growth_interval = 3, .hysteresis = 2};
constexpr LossScaleConfig two_until_growth{.init_scale = 64.f, .growth_interval = 3, .hysteresis = 2, .hysteresis_reset = HysteresisReset::growth};

TEST_CASE_TEMPLATE("hysteresis_that_clean_steps_reset_waits_for_overflows_in_a_row", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  CHECK(after<two>(executor, "x.x").scale == 64.f);
  CHECK(after<two>(executor, "x.x").skipped_steps == 2);  // skips show though the scale stays
  CHECK(after<two>(executor, "xx").scale == 32.f);
  CHECK(after<two>(executor, "xxx").scale == 32.f);
  CHECK(after<two>(executor, "xxxx").scale == 16.f);
  CHECK(after<two>(executor, "xxx...").scale == 64.f);
}

TEST_CASE_TEMPLATE("hysteresis_that_growth_alone_resets_lets_every_further_overflow_lower_the_scale", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  CHECK(after<two_until_growth>(executor, "x.x").scale == 32.f);
  CHECK(after<two_until_growth>(executor, "xx").scale == 32.f);
  CHECK(after<two_until_growth>(executor, "xxx").scale == 16.f);
  CHECK(after<two_until_growth>(executor, "xx.x").scale == 16.f);
  CHECK(after<two_until_growth>(executor, "xxx...").scale == 32.f);
  CHECK(after<two_until_growth>(executor, "xxx...x").scale == 32.f);  // a new budget after growth
}

constexpr LossScaleConfig eager{.growth_interval = 1};

TEST_CASE_TEMPLATE("growth_stops_at_max_scale_and_comes_back", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<eager> scaler(executor);
  for (int i = 0; i < 200; ++i) iterate(executor, scaler, false);
  CHECK(scaler.state().scale == 0x1p126f);
  iterate(executor, scaler, true);
  CHECK(scaler.state().scale == 0x1p125f);
}

TEST_CASE_TEMPLATE("backoff_stops_at_min_scale_and_says_so", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<> scaler(executor);
  for (int i = 0; i < 200; ++i) iterate(executor, scaler, true);
  const LossScaleState state = scaler.state();
  CHECK(state.scale == 0x1p-126f);
  CHECK(state.skips_at_min_scale == 200 - 142);  // 142 halvings lead there
  CHECK(state.consecutive_skips == 200);
  const Buffer<float> view(executor, 2);
  run_once(executor, mezzo::test::ReadView{scaler.device_view(), view.data()});
  CHECK(view.read() == std::vector<float>{0x1p-126f, 0x1p126f});  // never 0, never infinite
}

constexpr LossScaleConfig five{.max_consecutive_skips = 5};

TEST_CASE_TEMPLATE("a_run_of_skips_is_reported_once_when_it_reaches_the_limit", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  CHECK(after<five>(executor, "xxxx.xxxx").skip_limit_reports == 0);
  CHECK(after<five>(executor, "xxxxx").skip_limit_reports == 1);
  CHECK(after<five>(executor, "xxxxxxxxxxx").skip_limit_reports == 1);
  CHECK(after<five>(executor, "xxxxx.xxxxx").skip_limit_reports == 2);
  CHECK(after<LossScaleConfig{}>(executor, "xxxxxxxxxxx").skip_limit_reports == 0);  // no limit: only counted
  CHECK(after<LossScaleConfig{}>(executor, "xxxxxxxxxxx").consecutive_skips == 11);
}

// -- save and load -------------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("every_field_survives_a_round_trip", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<> scaler(executor);
  scaler.load_state({.scale = 3.f, .growth_tracker = 5, .hysteresis_tracker = 7, .consecutive_skips = 11, .applied_steps = std::uint64_t{13} << 40,
                     .skipped_steps = std::uint64_t{17} << 40, .skips_at_min_scale = std::uint64_t{19} << 40, .skip_limit_reports = std::uint64_t{23} << 40});
  // A field that is added must be added here.
  const auto [scale, growth, hysteresis, consecutive, applied, skipped, at_min, reports] = scaler.state();
  CHECK(scale == 3.f);
  CHECK(growth == 5);
  CHECK(hysteresis == 7);
  CHECK(consecutive == 11);
  CHECK(applied == std::uint64_t{13} << 40);
  CHECK(skipped == std::uint64_t{17} << 40);
  CHECK(at_min == std::uint64_t{19} << 40);
  CHECK(reports == std::uint64_t{23} << 40);
}

TEST_CASE_TEMPLATE("a_run_resumed_one_step_before_growth_grows_at_that_step", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<> before(executor);
  for (int i = 0; i < 1999; ++i) iterate(executor, before, false);
  CHECK(before.state().growth_tracker == 1999);
  CHECK(before.state().scale == 65536.f);
  DynamicLossScaler<> after_load(executor);
  after_load.load_state(before.state());
  iterate(executor, after_load, false);
  CHECK(after_load.state().scale == 131072.f);
  CHECK(after_load.state().growth_tracker == 0);
}

TEST_CASE_TEMPLATE("a_loaded_tracker_beyond_the_interval_grows_at_the_next_clean_step", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const std::int32_t tracker : {3, 4, 5000, 2147483647}) {
    DynamicLossScaler<quick> scaler(executor);
    scaler.load_state({.scale = 1024.f, .growth_tracker = tracker});
    iterate(executor, scaler, false);
    CHECK(scaler.state().scale == 2048.f);
    CHECK(scaler.state().growth_tracker == 0);
  }
}

TEST_CASE_TEMPLATE("a_state_of_another_configuration_is_refused_and_nothing_changes", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<spent> scaler(executor);
  const LossScaleState before = scaler.state();
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.load_state({.scale = 0.f})) == "LossScaleState: scale must lie in [2^-126, 2^126], got 0");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.load_state({.scale = 8.f})) == "load_state: scale must lie in [min_scale, max_scale], [16, 1e+06], got 8");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.load_state({.scale = 2e6f})) == "load_state: scale must lie in [min_scale, max_scale], [16, 1e+06], got 2e+06");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.load_state({.scale = 32.f, .growth_tracker = -1})) == "LossScaleState: growth_tracker must not be negative, got -1");
  CHECK(scaler.state() == before);
}

TEST_CASE_TEMPLATE("loading_or_resetting_abandons_an_iteration_and_its_flags", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  run_once(executor, mezzo::test::ReportOverflow{scaler.device_view()});
  scaler.reset();
  iterate(executor, scaler, false);
  CHECK(scaler.state().skipped_steps == 0);
  CHECK(scaler.state().scale == 1024.f);
  run_once(executor, mezzo::test::ReportOverflow{scaler.device_view()});
  scaler.load_state({.scale = 8.f});
  iterate(executor, scaler, false);
  CHECK(scaler.state().skipped_steps == 0);
  CHECK(scaler.state().scale == 8.f);
}

// -- memory, waiting ---------------------------------------------------------------------------------------------------------

TEST_CASE("memory_is_allocated_once_and_only_reading_the_state_waits") {
  counting::Ledger ledger;
  const counting::Executor executor{&ledger};
  {
    DynamicLossScaler<> scaler(executor);
    CHECK(ledger.allocations == 1);
    CHECK(ledger.bytes == DynamicLossScaler<>::storage_bytes());
    for (int i = 0; i < 10; ++i) iterate(executor, scaler, i == 3);
    scaler.reset();
    LossScaleState state;
    scaler.state_async(&state);
    scaler.load_state(state);
    CHECK(ledger.waits == 0);
    CHECK(scaler.state() == state);
    CHECK(ledger.waits == 1);
    CHECK(ledger.allocations == 1);
  }
  CHECK(ledger.live == 0);
}

TEST_CASE("a_failed_allocation_is_reported_with_the_users_line_and_leaks_nothing") {
  counting::Ledger ledger{.allocations_left = 0};
  const counting::Executor executor{&ledger};
  CHECK(MEZZO_REFUSAL(mezzo::OutOfMemory, DynamicLossScaler<>(executor)) ==
        "Executor: no memory left for " + std::to_string(DynamicLossScaler<>::storage_bytes()) + " bytes");
  CHECK(ledger.live == 0);
}

TEST_CASE_TEMPLATE("a_scaler_lives_in_memory_that_the_user_lends", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const mezzo::Memory memory(executor, DynamicLossScaler<>::storage_bytes() + 32);
  DynamicLossScaler<quick> scaler(executor, mezzo::Span<std::byte>(memory.data(), memory.size()));
  iterate(executor, scaler, true);
  CHECK(scaler.state().scale == 512.f);
}

TEST_CASE("lent_memory_that_is_too_small_or_misaligned_is_refused") {
  const mezzo::HostExecutor executor;
  alignas(64) static std::byte memory[2048];
  REQUIRE(DynamicLossScaler<>::storage_bytes() < sizeof(memory) - 64);
  const auto lend = [&](std::size_t offset, std::size_t bytes) { DynamicLossScaler<> scaler(executor, mezzo::Span<std::byte>(memory + offset, bytes)); };
  const std::size_t needed = DynamicLossScaler<>::storage_bytes();
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, lend(0, needed - 1)) ==
        "LossScaler: storage must hold storage_bytes(), got " + std::to_string(needed - 1));
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, lend(8, needed)).starts_with("LossScaler: storage must be aligned to 16 bytes, got address 0x"));
  CHECK_NOTHROW(lend(16, needed));
}

static_assert(!std::is_copy_constructible_v<DynamicLossScaler<>> && !std::is_copy_assignable_v<DynamicLossScaler<>>);
static_assert(std::is_nothrow_move_constructible_v<DynamicLossScaler<>> && std::is_nothrow_move_assignable_v<DynamicLossScaler<>>);

}  // namespace
