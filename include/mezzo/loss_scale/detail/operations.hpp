#pragma once
// What a scaler runs on its executor, and the table of it that a scaler keeps.

#include <mezzo/executor/executor.hpp>
#include <mezzo/loss_scale/step_control.hpp>
#include <mezzo/numeric/convert.hpp>

namespace mezzo::detail {

struct LoadControl {
  StepControl* control;
  LossScaleState state;
  MEZZO_HOST_DEVICE void operator()() const {
    control->state = state;
    control->inverse_scale = inverse_of(state.scale);
    for (auto& flag : control->overflow) flag = 0;
  }
};

struct ClearFlags {
  StepControl* control;
  MEZZO_HOST_DEVICE void operator()() const {
    for (auto& flag : control->overflow) flag = 0;
  }
};

struct UpdateControl {
  StepControl* control;
  LossScaleConfig config;
  bool dynamic;  ///< false: steps are counted, the scale stays
  MEZZO_HOST_DEVICE void operator()() const {
    std::uint32_t overflow = 0;
    for (auto& flag : control->overflow) {
      overflow |= flag;
      flag = 0;
    }
    LossScaleState state = updated(control->state, config, overflow != 0);
    if (!dynamic) {
      state.scale = control->state.scale;
      state.growth_tracker = 0;
      state.hysteresis_tracker = 0;
      state.skips_at_min_scale = 0;
    }
    control->state = state;
    control->inverse_scale = inverse_of(state.scale);
  }
};

/// out[i] <- in[i] * scale, the product rounded to float and then to the output's type.
template <Element To>
struct ScaleSpan {
  LossScaleView view;
  const float* in;
  To* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const { out[i] = convert<To>(exact::mul(in[i], view.scale())); }
};

/// out[i] <- in[i] / scale in the output's type; raises flag 0 where a result is not finite.
template <Element From, FullPrecision To>
struct UnscaleSpan {
  LossScaleView view;
  const From* in;
  To* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const To result = exact::mul(convert<To>(in[i]), convert<To>(view.inverse_scale()));
    if (!is_finite(result)) view.report_overflow();
    out[i] = result;
  }
};

/// Calls `f(T{})` with the element type named by `type`.
template <class F>
void visit_element_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::f16: return f(stdlib::type_identity<float16>{});
    case ElementType::bf16: return f(stdlib::type_identity<bfloat16>{});
    case ElementType::f8_e4m3: return f(stdlib::type_identity<float8_e4m3>{});
    case ElementType::f8_e5m2: return f(stdlib::type_identity<float8_e5m2>{});
    case ElementType::f32: return f(stdlib::type_identity<float>{});
    case ElementType::f64: return f(stdlib::type_identity<double>{});
  }
}

/// A scaler's work, instantiated for one executor where the scaler is constructed and called from anywhere.
struct LossScaleOperations {
  void (*load)(const AnyExecutor&, const LoadControl&, std::source_location);
  void (*clear)(const AnyExecutor&, const ClearFlags&, std::source_location);
  void (*update)(const AnyExecutor&, const UpdateControl&, std::source_location);
  void (*scale)(const AnyExecutor&, LossScaleView, const float* in, void* out, ElementType to, std::uint64_t size,
                std::source_location);
  void (*unscale)(const AnyExecutor&, LossScaleView, const void* in, ElementType from, void* out, ElementType to,
                  std::uint64_t size, std::source_location);
};

template <Executor E>
struct LossScaleOperationsOf {
  static constexpr LossScaleOperations value{
    .load = [](const AnyExecutor& executor, const LoadControl& functor,
               std::source_location where) { run_once(executor.get<E>(), functor, where); },
    .clear = [](const AnyExecutor& executor, const ClearFlags& functor,
                std::source_location where) { run_once(executor.get<E>(), functor, where); },
    .update = [](const AnyExecutor& executor, const UpdateControl& functor,
                 std::source_location where) { run_once(executor.get<E>(), functor, where); },
    .scale =
        [](const AnyExecutor& executor, LossScaleView view, const float* in, void* out, ElementType to, std::uint64_t size,
           std::source_location where) {
          visit_element_type(to, [&]<class To>(stdlib::type_identity<To>) {
            for_each_index(executor.get<E>(), size, ScaleSpan<To>{view, in, static_cast<To*>(out)}, where);
          });
        },
    .unscale =
        [](const AnyExecutor& executor, LossScaleView view, const void* in, ElementType from, void* out, ElementType to,
           std::uint64_t size, std::source_location where) {
          visit_element_type(from, [&]<class From>(stdlib::type_identity<From>) {
            const auto* const source = static_cast<const From*>(in);
            if (to == ElementType::f64) {
              for_each_index(executor.get<E>(), size, UnscaleSpan<From, double>{view, source, static_cast<double*>(out)}, where);
            } else if constexpr (!std::is_same_v<From, double>) {
              for_each_index(executor.get<E>(), size, UnscaleSpan<From, float>{view, source, static_cast<float*>(out)}, where);
            }
          });
        },
  };
};

}  // namespace mezzo::detail
