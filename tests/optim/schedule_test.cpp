#include <mezzo/optim/schedule.hpp>

#include <cmath>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace mezzo;

TEST_CASE("cos_pi_is_within_2_to_the_minus_50_of_the_cosine") {
  const long double pi = 3.14159265358979323846264338327950288L;
  long double worst = 0;
  for (int i = 0; i <= 1 << 20; ++i) {
    const double x = static_cast<double>(i) / (1 << 20);
    worst = std::max(worst, std::fabs(static_cast<long double>(mezzo::detail::cos_pi(x)) - std::cos(pi * static_cast<long double>(x))));
  }
  CHECK(worst <= 0x1p-50L);
  CHECK(mezzo::detail::cos_pi(.5) == 0.);
}

TEST_CASE("cosine_falls_from_1_to_the_final_factor_and_stays") {
  const LearningRateSchedule schedule = cosine_schedule(100, 0, .1);
  CHECK(schedule.factor(0) == doctest::Approx(1.).epsilon(0x1p-48));
  CHECK(schedule.factor(50) == doctest::Approx(.55).epsilon(0x1p-48));
  CHECK(schedule.factor(100) == .1);
  CHECK(schedule.factor(1000000) == .1);
  for (std::uint64_t step = 0; step < 100; ++step) CHECK(schedule.factor(step + 1) < schedule.factor(step));
}

TEST_CASE("a_warm_up_rises_in_equal_steps_and_its_last_step_has_the_full_rate") {
  for (const auto& schedule : {cosine_schedule(20, 4), linear_schedule(20, 4), constant_schedule(4)}) {
    CHECK(schedule.factor(0) == .25);
    CHECK(schedule.factor(1) == .5);
    CHECK(schedule.factor(2) == .75);
    CHECK(schedule.factor(3) == 1.);
    CHECK(schedule.factor(4) == doctest::Approx(1.).epsilon(0x1p-48));
  }
  CHECK(constant_schedule().factor(0) == 1.);
  CHECK(constant_schedule().factor(~std::uint64_t{0}) == 1.);
}

TEST_CASE("linear_falls_on_a_straight_line") {
  const LearningRateSchedule schedule = linear_schedule(8, 0, .5);
  for (std::uint64_t step = 0; step <= 8; ++step) CHECK(schedule.factor(step) == 1. - static_cast<double>(step) / 16);
}

TEST_CASE("a_schedule_that_no_run_can_follow_is_refused") {
  const auto refusal = [](const LearningRateSchedule& schedule) -> std::string {
    try {
      validate(schedule);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(cosine_schedule(10, 2)).empty());
  CHECK(refusal(constant_schedule(5)).empty());
  CHECK(refusal(cosine_schedule(0)).find("total_steps must exceed warmup_steps, got 0") != std::string::npos);
  CHECK(refusal(linear_schedule(3, 3)).find("total_steps must exceed warmup_steps, got 3") != std::string::npos);
  CHECK(refusal(cosine_schedule(3, 0, 1.5)).find("final_factor must lie in [0, 1], got 1.5") != std::string::npos);
  CHECK(refusal(cosine_schedule(3, 0, -.5)).find("final_factor must lie in [0, 1]") != std::string::npos);
}

}  // namespace
