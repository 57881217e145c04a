// Small helpers of the scaler tests.
#pragma once

#include <mezzo/loss_scale/loss_scaler.hpp>

#include <string>

namespace mezzo::test {

/// What a kernel of the user's does when it finds an overflow.
struct ReportOverflow {
  LossScaleView view;
  MEZZO_HOST_DEVICE void operator()() const { view.report_overflow(); }
};

/// One iteration in which the user's own kernels looked at the gradients.
template <class E, class Scaler>
void iterate(const E& executor, Scaler& scaler, bool overflow) {
  if (overflow) run_once(executor, ReportOverflow{scaler.device_view()});
  scaler.assume_checked();
  scaler.update();
}

/// What a view says where it is used.
struct ReadView {
  LossScaleView view;
  float* out;  // [2] scale, inverse
  MEZZO_HOST_DEVICE void operator()() const {
    out[0] = view.scale();
    out[1] = view.inverse_scale();
  }
};

/// An optimizer that writes down what it is asked for.
struct RecordingOptimizer {
  std::uint64_t number;
  std::string calls = {};

  std::uint64_t id() const { return number; }
  void prepare(const StepGate&, std::source_location) { calls += "prepare "; }
  void check(const StepGate& gate, const CheckRequest& request, std::source_location) {
    calls += "check";
    if (request.norm) calls += "+norm";
    if (request.divide_float32) calls += "+divide";
    if (request.max_norm > 0.f) calls += "+clip";
    calls += gate.overflow != nullptr ? " " : "(no flag) ";
  }
  void clip(const StepGate&, float, std::source_location) { calls += "clip "; }
  void update(const StepGate&, std::source_location) { calls += "update "; }
};
static_assert(ScalableOptimizer<RecordingOptimizer>);

}  // namespace mezzo::test
