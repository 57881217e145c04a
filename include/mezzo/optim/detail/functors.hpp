#pragma once
// What an optimizer runs over its table: the check of the gradients, the update, and the small things around them.

#include <mezzo/loss_scale/step_control.hpp>
#include <mezzo/multi_tensor/functor.hpp>
#include <mezzo/optim/optimizer_state.hpp>
#include <mezzo/optim/schedule.hpp>
#include <mezzo/optim/update_rule.hpp>

namespace mezzo::detail {

/// An optimizer's scalars in the executor's memory. The check writes them, the update reads them.
template <UpdateRule Rule>
struct OptimizerControl {
  OptimizerState state;
  float inverse_low;     ///< 1 / scale for gradients of the low type
  float inverse_float;   ///< the same for float32 gradients; 1 once they were divided in place
  std::uint32_t raised;    ///< flags of steps without a scaler: raised by the check ...
  std::uint32_t overflow;  ///< ... and handed to the update when the check has ended
  LearningRateSchedule schedule;
  std::uint32_t groups;
  typename Rule::Options* options;  ///< [groups]
  typename Rule::Scalars* scalars;  ///< [groups]
  std::uint32_t* frozen;            ///< [groups] FrozenBits: neither gradients nor weights of the group are looked at
};

/// What was asked for, which the next check reads, and what that check went by, which its update must go by too.
enum FrozenBits : std::uint32_t { frozen_from_next_check = 1, frozen_in_this_step = 2 };

/// Begins a step: from here on its update knows which groups rest.
template <UpdateRule Rule>
MEZZO_HOST_DEVICE void settle_frozen(OptimizerControl<Rule>& control) {
  for (std::uint32_t group = 0; group < control.groups; ++group) {
    control.frozen[group] = (control.frozen[group] & frozen_from_next_check) != 0 ? frozen_from_next_check | frozen_in_this_step : 0;
  }
}

/// Computes what the update of the next step needs.
template <UpdateRule Rule>
MEZZO_HOST_DEVICE void prepare_scalars(OptimizerControl<Rule>& control) {
  const double factor = control.schedule.factor(control.state.applied_steps);
  control.state.schedule_factor = exact::to_float(factor);
  for (std::uint32_t group = 0; group < control.groups; ++group) {
    const auto& options = control.options[group];
    control.scalars[group] = Rule::scalars(options, exact::mul(exact::to_double(options.lr), factor), control.state.applied_steps + 1);
  }
}

MEZZO_HOST_DEVICE inline float clip_factor(double norm, float max_norm) {
  const double most = exact::to_double(max_norm);  // in double: a float comparison may flush a subnormal limit
  if (most <= 0) return 1.f;
  const double factor = exact::div(most, exact::add(norm, 1e-6));
  return factor < 1.0 ? exact::to_float(factor) : 1.f;
}

MEZZO_HOST_DEVICE inline float inverse_scale_of(const StepGate& gate) {
  return gate.inverse_scale != nullptr ? *gate.inverse_scale : 1.f;
}

/// A step whose gradients nobody looked at.
template <UpdateRule Rule>
struct PrepareStep {
  OptimizerControl<Rule>* control;
  StepGate gate;
  MEZZO_HOST_DEVICE void operator()() const {
    control->state.clip_factor = 1.f;
    control->inverse_low = control->inverse_float = inverse_scale_of(gate);
    control->overflow = 0;
    settle_frozen(*control);
    prepare_scalars(*control);
  }
};

/// A clip factor for a norm that is known already.
template <UpdateRule Rule>
struct ClipStep {
  OptimizerControl<Rule>* control;
  float max_norm;
  MEZZO_HOST_DEVICE void operator()() const { control->state.clip_factor = clip_factor(control->state.gradient_norm, max_norm); }
};

/// The columns of a gradient, by the four kinds of row (optim/detail/rows.hpp).
template <template <class> class Low16, template <class> class Float32, class Low>
using GradientKinds = multi_tensor::Kinds<multi_tensor::Columns<Low16<Low>>, multi_tensor::Columns<Float32<float>>,
                                          multi_tensor::Columns<Low16<Low>>, multi_tensor::Columns<Float32<float>>>;

/// Reads every gradient: raises the flag where one divided by the scale is not finite, adds squares where the norm is asked
/// for, divides float32 gradients in place where that is asked for; then computes the step's scalars.
template <UpdateRule Rule, class Low, bool Norm, bool Divide>
struct CheckGradients {
  using kinds = std::conditional_t<Divide && std::is_same_v<Low, float>, GradientKinds<multi_tensor::InOut, multi_tensor::InOut, Low>,
                                   std::conditional_t<Divide, GradientKinds<multi_tensor::In, multi_tensor::InOut, Low>,
                                                      GradientKinds<multi_tensor::In, multi_tensor::In, Low>>>;
  static constexpr bool sums = Norm;

  OptimizerControl<Rule>* control;
  StepGate gate;
  float max_norm;

  struct Scalars {
    float inverse;
    bool frozen;
  };
  MEZZO_HOST_DEVICE Scalars scalars(std::uint32_t, std::uint32_t group) const {
    return {inverse_scale_of(gate), (control->frozen[group] & frozen_from_next_check) != 0};
  }
  MEZZO_HOST_DEVICE static bool rests(const Scalars& s) { return s.frozen; }

  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, const Scalars& s, multi_tensor::Partial& partial, float& gradient) const {
    gradient = exact::mul(gradient, s.inverse);
    partial.nonfinite |= !is_finite(gradient);
    if constexpr (Norm) {
      const double wide = exact::to_double(gradient);
      partial.sum = exact::fma(wide, wide, partial.sum);
    }
  }

  MEZZO_HOST_DEVICE void report_nonfinite() const {
    if (gate.overflow != nullptr) {
      gate.overflow[gate.slot] = 1;
    } else {
      control->raised = 1;
    }
  }

  MEZZO_HOST_DEVICE void finish(double sum) const {
    if constexpr (Norm) control->state.gradient_norm = exact::sqrt(sum);
    control->state.clip_factor = clip_factor(control->state.gradient_norm, max_norm);
    control->inverse_low = inverse_scale_of(gate);
    control->inverse_float = Divide ? 1.f : control->inverse_low;
    if constexpr (Divide && std::is_same_v<Low, float>) control->inverse_low = 1.f;
    control->overflow = control->raised;
    control->raised = 0;
    settle_frozen(*control);
    prepare_scalars(*control);
  }
};

/// One element's update by `Rule`, with the gradient divided and clipped in registers.
template <UpdateRule Rule, class Kinds>
struct UpdateWeights {
  using kinds = Kinds;

  OptimizerControl<Rule>* control;
  StepGate gate;

  struct Scalars {
    float inverse, clip;
    typename Rule::Scalars rule;
    bool frozen;
  };

  MEZZO_HOST_DEVICE bool enabled() const {
    if (gate.overflow == nullptr) return control->overflow == 0;
    std::uint32_t flags = 0;
    for (std::uint32_t slots = gate.skip_slots, slot = 0; slots != 0; slots >>= 1, ++slot) {
      if ((slots & 1U) != 0) flags |= gate.overflow[slot];
    }
    return flags == 0;
  }

  MEZZO_HOST_DEVICE Scalars scalars(std::uint32_t kind, std::uint32_t group) const {
    return {(kind & 1U) != 0 ? control->inverse_float : control->inverse_low, control->state.clip_factor, control->scalars[group],
            (control->frozen[group] & frozen_in_this_step) != 0};
  }

  MEZZO_HOST_DEVICE static bool rests(const Scalars& s) { return s.frozen; }

  /// Columns after the weight: the moments, then the low-precision copy where the row has a master.
  template <class Kind, class... Rest>
  MEZZO_HOST_DEVICE void operator()(Kind, const Scalars& s, float& gradient, float& weight, Rest&... rest) const {
    const float unscaled = exact::mul(exact::mul(gradient, s.inverse), s.clip);
    if constexpr (sizeof...(Rest) == Rule::moments) {
      Rule::update(s.rule, weight, unscaled, rest...);
    } else {
      update_and_copy(s, weight, unscaled, stdlib::make_index_sequence<Rule::moments>{}, rest...);
    }
  }

  MEZZO_HOST_DEVICE void finish() const {
    if (enabled()) {
      ++control->state.applied_steps;
    } else {
      ++control->state.skipped_steps;
    }
  }

 private:
  template <std::size_t... Index, class... Rest>
  MEZZO_HOST_DEVICE static void update_and_copy(const Scalars& s, float& weight, float gradient, stdlib::index_sequence<Index...>,
                                                Rest&... rest) {
    float* const columns[] = {&rest...};
    Rule::update(s.rule, weight, gradient, *columns[Index]...);
    *columns[Rule::moments] = weight;
  }
};

/// Stores zeros in every gradient.
template <class Low>
struct ZeroGradients {
  using kinds = GradientKinds<multi_tensor::Out, multi_tensor::Out, Low>;
  MEZZO_HOST_DEVICE bool enabled() const { return true; }
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, float& gradient) const {
    gradient = 0.f;
  }
  MEZZO_HOST_DEVICE void finish() const {}
};

/// The first column of every row is converted into the second.
template <Element From, Element To>
struct ConvertRows {
  using kinds = multi_tensor::Kinds<multi_tensor::Columns<multi_tensor::In<From>, multi_tensor::Out<To>>>;
  MEZZO_HOST_DEVICE bool enabled() const { return true; }
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, float& from, float& to) const {
    to = from;
  }
  MEZZO_HOST_DEVICE void finish() const {}
};

/// New options for one group, a new schedule, a loaded state, a group that rests or works again.
template <UpdateRule Rule>
struct SetOptions {
  OptimizerControl<Rule>* control;
  std::uint32_t group;
  typename Rule::Options options;
  bool checked;  ///< the next step's scalars were computed already: by a check that came before this
  MEZZO_HOST_DEVICE void operator()() const {
    control->options[group] = options;
    if (checked) prepare_scalars(*control);
  }
};

template <UpdateRule Rule>
struct SetSchedule {
  OptimizerControl<Rule>* control;
  LearningRateSchedule schedule;
  bool checked;
  MEZZO_HOST_DEVICE void operator()() const {
    control->schedule = schedule;
    if (checked) prepare_scalars(*control);
  }
};

template <UpdateRule Rule>
struct SetState {
  OptimizerControl<Rule>* control;
  OptimizerState state;
  MEZZO_HOST_DEVICE void operator()() const { control->state = state; }
};

template <UpdateRule Rule>
struct SetFrozen {
  OptimizerControl<Rule>* control;
  std::uint32_t group;
  bool frozen;
  MEZZO_HOST_DEVICE void operator()() const {
    control->frozen[group] = (control->frozen[group] & frozen_in_this_step) | (frozen ? frozen_from_next_check : 0U);
  }
};

}  // namespace mezzo::detail
