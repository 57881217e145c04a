#include <mezzo/loss_scale/config.hpp>

#include <string>
#include <type_traits>

#include <doctest/doctest.h>

#include <mezzo/numeric/bits.hpp>
#include "support/message.hpp"

namespace {

using mezzo::HysteresisReset;
using mezzo::LossScaleConfig;
using mezzo::validate;

TEST_CASE("defaults_are_those_of_torch_and_everything_else_is_off") {
  const auto [init, growth, backoff, interval, hysteresis, reset, min, max, skips] = LossScaleConfig{};
  CHECK(init == 65536.f);
  CHECK(growth == 2.f);
  CHECK(backoff == .5f);
  CHECK(interval == 2000);
  CHECK(hysteresis == 1);
  CHECK(reset == HysteresisReset::clean_step);
  CHECK(min == 0x1p-126f);
  CHECK(max == 0x1p126f);
  CHECK(skips == 0);
  CHECK_NOTHROW(validate(LossScaleConfig{}));
}

/// A structural type: a value of it is a template argument.
template <LossScaleConfig Config>
struct Holder {
  static constexpr LossScaleConfig value = Config;
};
static_assert(Holder<LossScaleConfig{.init_scale = 3.f}>::value.init_scale == 3.f);
static_assert(!std::is_same_v<Holder<LossScaleConfig{.min_scale = 0x1p-126f}>, Holder<LossScaleConfig{.min_scale = 0x1.000002p-126f}>>);

std::string refusal(const LossScaleConfig& config) {
  const std::string text = MEZZO_REFUSAL(mezzo::InvalidArgument, validate(config));
  return text.substr(0, text.find(';'));
}

const float infinity = mezzo::element_limits<float>::infinity(), nan = mezzo::element_limits<float>::quiet_nan();

TEST_CASE("a_refusal_names_the_rule_and_every_value") {
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleConfig{.growth_factor = .5f})) ==
        "LossScaleConfig: growth_factor must be finite and exceed 1; got init_scale 65536, growth_factor 0.5, backoff_factor 0.5, "
        "growth_interval 2000, hysteresis 1, min_scale 1.17549e-38, max_scale 8.50706e+37, max_consecutive_skips 0");
}

TEST_CASE("growth_factor_must_be_finite_and_exceed_1") {
  for (const float value : {1.f, .5f, 0.f, -2.f, infinity, -infinity, nan}) {
    CHECK(refusal({.growth_factor = value}) == "LossScaleConfig: growth_factor must be finite and exceed 1");
  }
  CHECK_NOTHROW(validate(LossScaleConfig{.growth_factor = 1.0000001f}));
}

TEST_CASE("backoff_factor_must_lie_between_0_and_1") {
  for (const float value : {0.f, 1.f, 2.f, -.5f, infinity, nan}) {
    CHECK(refusal({.backoff_factor = value}) == "LossScaleConfig: backoff_factor must lie in (0, 1)");
  }
  CHECK_NOTHROW(validate(LossScaleConfig{.backoff_factor = 0x1p-149f}));
}

TEST_CASE("counts_must_not_be_negative_and_the_interval_is_at_least_1") {
  CHECK(refusal({.growth_interval = 0}) == "LossScaleConfig: growth_interval must be at least 1");
  CHECK(refusal({.growth_interval = -3}) == "LossScaleConfig: growth_interval must be at least 1");
  CHECK(refusal({.hysteresis = -1}) == "LossScaleConfig: hysteresis must not be negative");
  CHECK(refusal({.max_consecutive_skips = -1}) == "LossScaleConfig: max_consecutive_skips must not be negative");
  CHECK_NOTHROW(validate(LossScaleConfig{.growth_interval = 2147483647, .hysteresis = 0}));
}

TEST_CASE("limits_must_keep_the_scale_and_its_inverse_normal") {
  for (const float value : {0.f, -1.f, 0x1p-127f, 0x1p-149f, 0x1p127f, infinity, nan}) {
    CHECK(refusal({.min_scale = value}) == "LossScaleConfig: min_scale must lie in [2^-126, 2^126]");
    CHECK(refusal({.max_scale = value}) == "LossScaleConfig: max_scale must lie in [2^-126, 2^126]");
  }
}

TEST_CASE("the_first_scale_must_lie_between_the_limits") {
  for (const float value : {0.f, -1.f, infinity, nan}) {
    CHECK(refusal({.init_scale = value}) == "LossScaleConfig: init_scale must be positive and finite");
  }
  CHECK(refusal({.init_scale = 1.f, .min_scale = 2.f}) == "LossScaleConfig: min_scale must not exceed init_scale");
  CHECK(refusal({.init_scale = 4.f, .max_scale = 2.f}) == "LossScaleConfig: init_scale must not exceed max_scale");
  CHECK_NOTHROW(validate(LossScaleConfig{.init_scale = 8.f, .min_scale = 8.f, .max_scale = 8.f}));
}

}  // namespace
