#include <mezzo/loss_scale/step_control.hpp>

#include <type_traits>

#include <doctest/doctest.h>

#include "loss_scale/support.hpp"

namespace {

using mezzo::LossScaleView;
using mezzo::StepControl;

static_assert(std::is_trivially_copyable_v<StepControl> && std::is_trivially_copyable_v<LossScaleView> &&
                  std::is_trivially_copyable_v<mezzo::StepGate>, "they travel to kernels byte by byte");

TEST_CASE("a_view_of_nothing_is_a_scale_of_1_that_takes_reports") {
  const LossScaleView view;
  CHECK(view.scale() == 1.f);
  CHECK(view.inverse_scale() == 1.f);
  view.report_overflow();
}

TEST_CASE("a_view_reads_the_block_and_reports_into_the_users_slot") {
  StepControl control{.state = {.scale = 8.f}, .inverse_scale = .125f};
  const LossScaleView view(&control);
  CHECK(view.scale() == 8.f);
  CHECK(view.inverse_scale() == .125f);
  control.state.scale = 4.f;
  CHECK(view.scale() == 4.f);  // what stands there now, not a copy
  view.report_overflow();
  view.report_overflow();
  CHECK(control.overflow[0] != 0);
  for (std::uint32_t slot = 1; slot < mezzo::overflow_slots; ++slot) CHECK(control.overflow[slot] == 0);
}

TEST_CASE("a_fresh_block_has_no_flag_up") {
  const StepControl control;
  for (const std::uint32_t flag : control.overflow) CHECK(flag == 0);
  CHECK(control.state.scale * control.inverse_scale == 1.f);
}

struct NoUpdate {
  std::uint64_t id() const { return 1; }
  void prepare(const mezzo::StepGate&, std::source_location) {}
  void check(const mezzo::StepGate&, const mezzo::CheckRequest&, std::source_location) {}
  void clip(const mezzo::StepGate&, float, std::source_location) {}
};
static_assert(!mezzo::ScalableOptimizer<NoUpdate> && !mezzo::ScalableOptimizer<int>);

}  // namespace
