#include <mezzo/loss_scale/state.hpp>

#include <type_traits>

#include <doctest/doctest.h>

#include <mezzo/numeric/bits.hpp>
#include "support/message.hpp"

namespace {

using mezzo::LossScaleState;
using mezzo::validate;

static_assert(std::is_trivially_copyable_v<LossScaleState> && std::is_standard_layout_v<LossScaleState>, "checkpoints store its bytes");

TEST_CASE("a_fresh_state_has_counted_nothing") {
  const auto [scale, growth, hysteresis, consecutive, applied, skipped, at_min, reports] = LossScaleState{};
  CHECK(scale == 1.f);
  CHECK(growth == 0);
  CHECK(hysteresis == 0);
  CHECK(consecutive == 0);
  CHECK(applied == 0);
  CHECK(skipped == 0);
  CHECK(at_min == 0);
  CHECK(reports == 0);
}

TEST_CASE("equality_looks_at_every_field") {
  const LossScaleState state{2.f, 3, 4, 5, 6, 7, 8, 9};
  CHECK(state == LossScaleState{2.f, 3, 4, 5, 6, 7, 8, 9});
  CHECK(state != LossScaleState{1.f, 3, 4, 5, 6, 7, 8, 9});
  CHECK(state != LossScaleState{2.f, 0, 4, 5, 6, 7, 8, 9});
  CHECK(state != LossScaleState{2.f, 3, 0, 5, 6, 7, 8, 9});
  CHECK(state != LossScaleState{2.f, 3, 4, 0, 6, 7, 8, 9});
  CHECK(state != LossScaleState{2.f, 3, 4, 5, 0, 7, 8, 9});
  CHECK(state != LossScaleState{2.f, 3, 4, 5, 6, 0, 8, 9});
  CHECK(state != LossScaleState{2.f, 3, 4, 5, 6, 7, 0, 9});
  CHECK(state != LossScaleState{2.f, 3, 4, 5, 6, 7, 8, 0});
}

TEST_CASE("a_state_that_no_scaler_can_be_in_is_refused") {
  const float infinity = mezzo::element_limits<float>::infinity();
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.scale = 0.f})) == "LossScaleState: scale must lie in [2^-126, 2^126], got 0");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.scale = -2.f})) == "LossScaleState: scale must lie in [2^-126, 2^126], got -2");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.scale = infinity})) == "LossScaleState: scale must lie in [2^-126, 2^126], got inf");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.scale = mezzo::element_limits<float>::quiet_nan()})) ==
        "LossScaleState: scale must lie in [2^-126, 2^126], got nan");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.scale = 0x1p127f})) == "LossScaleState: scale must lie in [2^-126, 2^126], got 1.70141e+38");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.scale = 0x1p-128f})) == "LossScaleState: scale must lie in [2^-126, 2^126], got 2.93874e-39");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.growth_tracker = -1})) == "LossScaleState: growth_tracker must not be negative, got -1");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.hysteresis_tracker = -2})) == "LossScaleState: hysteresis_tracker must not be negative, got -2");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, validate(LossScaleState{.consecutive_skips = -3})) == "LossScaleState: consecutive_skips must not be negative, got -3");
  CHECK_NOTHROW(validate(LossScaleState{.scale = mezzo::smallest_loss_scale, .growth_tracker = 2147483647}));
  CHECK_NOTHROW(validate(LossScaleState{.scale = mezzo::largest_loss_scale}));
}

}  // namespace
