#include <mezzo/loss_scale/update_rule.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "loss_scale/model.hpp"
#include "support/executors.hpp"

// Named: nvcc loses types of an unnamed namespace that is nested, as the macros of doctest nest one.
namespace update_rule_test {

using loss_scale_model::Model;
using mezzo::HysteresisReset;
using mezzo::LossScaleConfig;
using mezzo::LossScaleState;
using mezzo::updated;
constexpr std::int32_t highest = 2147483647;

/// Every combination of hysteresis, its mode, growth interval, limits and factors that behaves differently in 16 steps.
std::vector<LossScaleConfig> configurations() {
  std::vector<LossScaleConfig> all;
  for (const std::int32_t hysteresis : {0, 1, 2, 3}) {
    for (const auto reset : {HysteresisReset::clean_step, HysteresisReset::growth}) {
      for (const std::int32_t interval : {1, 2, 5, highest}) {
        for (const bool tight : {false, true}) {
          LossScaleConfig config{.init_scale = 1024.f, .growth_interval = interval, .hysteresis = hysteresis, .hysteresis_reset = reset};
          if (tight) {
            config.min_scale = 300.f;  // no power of two: the limit itself is reached, not passed
            config.max_scale = 5000.f;
            config.growth_factor = 1.7f;
            config.backoff_factor = .3f;
            config.max_consecutive_skips = 3;
          }
          all.push_back(config);
        }
      }
    }
  }
  LossScaleConfig lowest{.init_scale = mezzo::smallest_loss_scale, .growth_interval = 2};
  LossScaleConfig top{.init_scale = mezzo::largest_loss_scale, .growth_interval = 1, .max_consecutive_skips = 1};
  LossScaleConfig fixed{.init_scale = 8.f, .growth_interval = 1, .min_scale = 8.f, .max_scale = 8.f};
  for (const auto& config : {lowest, top, fixed}) all.push_back(config);
  return all;
}

TEST_CASE("all_2_16_overflow_sequences_equal_the_model_in_every_configuration") {
  const auto configs = configurations();
  CHECK(configs.size() >= 24);
  std::uint64_t differ = 0;
  for (const auto& config : configs) {
    REQUIRE(mezzo::detail::broken_rule(config) == nullptr);
    for (std::uint32_t sequence = 0; sequence < 0x10000; ++sequence) {
      LossScaleState state{.scale = config.init_scale};
      Model model{config, state};
      for (int step = 0; step < 16; ++step) {
        const bool overflow = (sequence >> step & 1) != 0;
        state = updated(state, config, overflow);
        model.step(overflow);
        differ += state != model.state;
      }
    }
  }
  CHECK(differ == 0);
}

TEST_CASE("ten_million_random_updates_with_saves_and_loads_equal_the_model") {
  std::mt19937_64 random(17);
  std::vector<LossScaleConfig> configs = configurations();
  std::array<LossScaleState, 8> saved{};
  for (auto& s : saved) s = {.scale = 1024.f};
  LossScaleConfig config = configs[0];
  LossScaleState state = saved[0];
  Model model{config, state};
  std::uint64_t differ = 0, loads = 0;
  for (int i = 0; i < 10'000'000; ++i) {
    const std::uint64_t bits = random();
    switch (bits >> 40 & 0x3ff) {
      case 0: saved[bits % saved.size()] = state; break;
      case 1: {  // a checkpoint of any run, perhaps of another interval: its tracker may be past this one's
        config = configs[random() % configs.size()];
        state = saved[bits % saved.size()];
        state.scale = std::min(std::max(state.scale, config.min_scale), config.max_scale);
        model = {config, state};
        ++loads;
        break;
      }
      case 2: {
        state.growth_tracker = highest - static_cast<std::int32_t>(random() % 3);
        state.hysteresis_tracker = highest - static_cast<std::int32_t>(random() % 3);
        state.consecutive_skips = highest - static_cast<std::int32_t>(random() % 3);
        model.state = state;
        break;
      }
      default: break;
    }
    const bool overflow = bits % 5 == 0 || (bits >> 20 & 0xff) == 0;
    state = updated(state, config, overflow);
    model.step(overflow);
    differ += state != model.state;
  }
  CHECK(differ == 0);
  CHECK(loads > 5000);
}

TEST_CASE("overflow_on_every_second_step_for_a_million_steps_equals_the_model") {
  const LossScaleConfig config{.growth_interval = 2};
  for (const int period : {1, 2}) {
    LossScaleState state{.scale = config.init_scale};
    Model model{config, state};
    std::uint64_t differ = 0;
    for (int i = 0; i < 1'000'000; ++i) {
      const bool overflow = i % period == 0;
      state = updated(state, config, overflow);
      model.step(overflow);
      differ += state != model.state;
    }
    CHECK(differ == 0);
  }
}

/// The rule of torch.amp's _amp_update_scale_, with no limits and no hysteresis.
struct Torch {
  float scale;
  std::int32_t tracker = 0;
  void update(bool found_inf, const LossScaleConfig& config) {
    if (found_inf) {
      scale = static_cast<float>(static_cast<double>(scale) * static_cast<double>(config.backoff_factor));
      tracker = 0;
    } else if (++tracker == config.growth_interval) {
      scale = static_cast<float>(static_cast<double>(scale) * static_cast<double>(config.growth_factor));
      tracker = 0;
    }
  }
};

TEST_CASE("scale_and_tracker_are_torchs_inside_the_limits") {
  std::mt19937_64 random(23);
  for (const auto& [growth, backoff, interval] : {std::tuple{2.f, .5f, 2000}, std::tuple{1.1f, .7f, 7}, std::tuple{3.f, .1f, 1}}) {
    const LossScaleConfig config{.growth_factor = growth, .backoff_factor = backoff, .growth_interval = interval};
    LossScaleState state{.scale = config.init_scale};
    Torch torch{config.init_scale};
    std::uint64_t differ = 0;
    for (int i = 0; i < 200'000; ++i) {
      // An overflow where the scale is large: the walk stays inside the limits.
      const bool overflow = torch.scale > 1e6f ? random() % 2 == 0 : torch.scale > 1e-6f && random() % 50 == 0;
      state = updated(state, config, overflow);
      torch.update(overflow, config);
      differ += mezzo::to_bits(state.scale) != mezzo::to_bits(torch.scale) || state.growth_tracker != torch.tracker;
    }
    CHECK(differ == 0);
  }
}

TEST_CASE("a_run_of_skips_reaches_the_limit_once_however_long_it_is") {
  const LossScaleConfig config{.max_consecutive_skips = highest};
  LossScaleState state{.consecutive_skips = highest - 1};
  for (int i = 0; i < 5; ++i) state = updated(state, config, true);
  CHECK(state.consecutive_skips == highest);
  CHECK(state.skip_limit_reports == 1);
}

constexpr LossScaleState after_growth = updated(LossScaleState{.scale = 4.f, .growth_tracker = 1}, LossScaleConfig{.growth_interval = 2}, false);
static_assert(after_growth.scale == 8.f && after_growth.growth_tracker == 0 && after_growth.applied_steps == 1, "usable in constant expressions");

/// 1 / s for s in [1, 2), times 2^exponent.
struct Inverses {
  float* out;
  float power;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const float s = mezzo::from_bits<float>(0x3f800000U | static_cast<std::uint32_t>(i));
    out[i] = mezzo::inverse_of(mezzo::exact::mul(s, power));
  }
};

TEST_CASE_TEMPLATE("the_inverse_of_every_mantissa_is_the_nearest_float", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  constexpr std::uint64_t count = std::uint64_t{1} << 23;
  const mezzo::test::Buffer<float> out(executor, count);
  for (const int exponent : {0, 16, -40}) {
    for_each_index(executor, count, Inverses{out.data(), std::ldexp(1.f, exponent)});
    const auto got = out.read();
    std::uint64_t differ = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      // 1 / (m 2^-23) = q 2^-24 with q = 2^47 / m to the nearest integer; m does not divide 2^48 but for m = 2^23, so no ties.
      const std::uint64_t m = count + i;
      const std::uint64_t q = ((std::uint64_t{1} << 48) / m + 1) / 2;
      differ += got[i] != std::ldexp(static_cast<float>(q), -24 - exponent);
    }
    CHECK(differ == 0);
  }
  CHECK(mezzo::inverse_of(mezzo::smallest_loss_scale) == 0x1p126f);
  CHECK(mezzo::inverse_of(mezzo::largest_loss_scale) == mezzo::smallest_loss_scale);  // the smallest normal: no build flushes it
}

}  // namespace update_rule_test
