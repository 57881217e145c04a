// Fifty steps of a rule over awkward spans against its float64 reference, shared by the tests of the rules.
#pragma once

#include <string>

#include "optim/reference.hpp"
#include "optim/support.hpp"

namespace optim_test {

inline constexpr mezzo::LossScaleConfig scale_1024{.init_scale = 1024.f, .growth_interval = 1 << 30};

/// Gradients of a loss with curvature and noise: element i at step k, before scaling; small multiples of 2^-20.
inline float true_gradient(std::size_t i, std::uint64_t step) {
  return i % 7 == 6 && step % 3 == 0 ? 0.f : noise(i, 2 * step + 1) * std::ldexp(1.f, -static_cast<int>(i % 10));
}

struct Accuracy {
  double worst_error = 0;  ///< in ulps of the weight
  double worst_bound = 0;  ///< of elements whose weight is at least 1/4: smaller ones have smaller ulps
};

/// Trains for 50 steps, explicit `unscale` in every third, and compares weights, moments and copies.
template <class Rule, class Reference, class Low, class Storage, class Moment, class E>
Accuracy check_against_reference(const E& executor, const typename Rule::Options& options) {
  using Weight = std::conditional_t<Storage::keeps_master, float, Low>;
  const std::vector<Shape> shapes = awkward();
  Training<E, Rule, Low, Storage, Moment> training(executor, shapes, options);
  mezzo::DynamicLossScaler<scale_1024> scaler(executor);
  std::vector<Bounded> w, first(elements(shapes)), second(elements(shapes));
  for (const float start : training.models()) w.push_back({wide(start), 0.});  // every storage starts from the model's values

  for (std::uint64_t step = 1; step <= 50; ++step) {
    training.set_gradients([step](std::size_t i) { return true_gradient(i, step) * 1024.f; });
    const std::vector<float> scaled = training.gradients();
    if (step % 3 == 0) scaler.unscale(training.optimizer());
    scaler.step(training.optimizer());
    scaler.update();
    std::size_t i = 0;
    for (const Shape& shape : shapes) {
      const bool narrow_weight = !std::is_same_v<Weight, float> && !shape.wide_model;
      for (std::size_t k = 0; k < shape.size; ++k, ++i) {
        const Bounded g{wide(scaled[i]) / 1024., 0.};  // exact: the scale is a power of two
        if (narrow_weight) {
          Reference::template step<Weight, Moment>(options, wide(options.lr), step, g, w[i], first[i], second[i]);
        } else {
          Reference::template step<float, Moment>(options, wide(options.lr), step, g, w[i], first[i], second[i]);
        }
      }
    }
  }

  Accuracy accuracy;
  std::size_t beyond = 0, moments_beyond = 0, copies_differ = 0;
  const std::vector<float> masters = training.masters(), models = training.models();
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double error = std::fabs(wide(masters[i]) - w[i].x);
    beyond += !(error <= 1.001 * w[i].e);
    if (std::fabs(w[i].x) >= .25) {
      accuracy.worst_error = std::max(accuracy.worst_error, in_ulps(error, w[i].x));
      accuracy.worst_bound = std::max(accuracy.worst_bound, in_ulps(w[i].e, w[i].x));
    }
  }
  // The copy is the master rounded once, or the master itself.
  std::size_t i = 0;
  for (const Shape& shape : shapes) {
    for (std::size_t k = 0; k < shape.size; ++k, ++i) {
      const bool same = shape.wide_model || std::is_same_v<Low, float>;
      const float expected = same ? masters[i] : mezzo::convert<float>(mezzo::convert<Low>(masters[i]));
      copies_differ += mezzo::to_bits(models[i]) != mezzo::to_bits(expected);
    }
  }
  for (int which = 0; which < Rule::moments; ++which) {
    const std::vector<float> moments = training.moments(which);
    const std::vector<Bounded>& right = which == 0 ? first : second;
    for (std::size_t m = 0; m < moments.size(); ++m) moments_beyond += !(std::fabs(wide(moments[m]) - right[m].x) <= 1.001 * right[m].e);
  }
  CHECK(beyond == 0);
  CHECK(moments_beyond == 0);
  CHECK(copies_differ == 0);
  CHECK(training.optimizer().state().applied_steps == 50);
  return accuracy;
}

}  // namespace optim_test
