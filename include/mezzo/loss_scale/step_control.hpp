#pragma once
// The device block that a scaler shares with optimizers and with the user's kernels.

#include <atomic>
#include <concepts>

#include <mezzo/loss_scale/update_rule.hpp>

namespace mezzo {

/// Slots for overflow flags: slot 0 for kernels and spans of the user's, one for each optimizer stepped between two updates.
inline constexpr std::uint32_t overflow_slots = 32;

/// A scaler's state in the executor's memory. Kernels read scale and inverse and raise flags; only `update` changes the rest.
struct StepControl {
  LossScaleState state;
  float inverse_scale = 1.f;
  std::uint32_t overflow[overflow_slots] = {};  ///< non-zero: a non-finite value was seen since the last update
};

/// A scaler as the user's own kernels see it: a plain value, valid as long as the scaler.
///
/// One type for all scalers. Reads what was last queued before the kernel; `report_overflow` may be called by any number
/// of threads (they all store the same value) and makes every step of this iteration be skipped.
class LossScaleView {
 public:
  LossScaleView() = default;
  MEZZO_HOST_DEVICE explicit LossScaleView(StepControl* control) : control_(control) {}

  [[nodiscard]] MEZZO_HOST_DEVICE float scale() const { return control_ != nullptr ? control_->state.scale : 1.f; }
  [[nodiscard]] MEZZO_HOST_DEVICE float inverse_scale() const { return control_ != nullptr ? control_->inverse_scale : 1.f; }
  MEZZO_HOST_DEVICE void report_overflow() const {
    if (control_ != nullptr) control_->overflow[0] = 1;
  }
  /// Whether an overflow was seen since the last update; meaningful between `step` and `update`. For kernels of the user's
  /// that must rest when the step does: a moving average of the weights, a counter.
  [[nodiscard]] MEZZO_HOST_DEVICE bool overflowed() const {
    std::uint32_t flags = 0;
    if (control_ != nullptr) {
      for (const std::uint32_t flag : control_->overflow) flags |= flag;
    }
    return flags != 0;
  }

 private:
  StepControl* control_ = nullptr;  // null: a scaler without state, whose scale is 1
};

/// What a scaler hands to an optimizer's check and update.
struct StepGate {
  const float* inverse_scale = nullptr;   ///< null: gradients are not scaled
  std::uint32_t* overflow = nullptr;      ///< flags by slot; null: the optimizer uses a flag of its own
  std::uint32_t slot = 0;                 ///< where this optimizer's check raises its flag
  std::uint32_t skip_slots = 0;           ///< bit i: a flag in slot i skips the step
};

/// A number that no other optimizer of the program has: what `ScalableOptimizer::id` returns. Thread-safe.
inline std::uint64_t new_optimizer_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// What the check pass does besides looking for non-finite gradients.
struct CheckRequest {
  bool norm = false;             ///< compute the norm of the unscaled gradients
  bool divide_float32 = false;   ///< divide float32 gradients by the scale in place
  float max_norm = 0.f;          ///< > 0: clip to this norm in the update; implies norm
};

/// What a scaler asks of an optimizer. All calls queue work and do not wait.
///
/// `prepare` computes the step's scalars without looking at gradients; `check` reads every gradient once, raises the gate's flag
/// and computes the step's scalars; `clip` sets the clip factor from the norm of the last check that computed one; `update` applies
/// the step unless one of the gate's flags is up. Two members are optional: `bool checked()`, false when gradients were zeroed since
/// the last check, asks `step` for a new one; `executor(where)` lets the scaler refuse one of another kind or device.
template <class Optimizer>
concept ScalableOptimizer = requires(Optimizer& optimizer, const StepGate& gate, const CheckRequest& request,
                                     float max_norm, std::source_location where) {
  { optimizer.id() } -> std::same_as<std::uint64_t>;
  optimizer.prepare(gate, where);
  optimizer.check(gate, request, where);
  optimizer.clip(gate, max_norm, where);
  optimizer.update(gate, where);
};

}  // namespace mezzo
