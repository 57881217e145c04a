#pragma once
// Learning-rate schedules: a function of the applied steps, evaluated where the step is.

#include <cstdint>
#include <source_location>

#include <mezzo/core/error.hpp>
#include <mezzo/numeric/arithmetic.hpp>

namespace mezzo {

namespace detail {

/// cos(pi * x) for x in [0, 1], by a polynomial in (x - 1/2): absolute error below 2^-50, the same bits everywhere.
MEZZO_HOST_DEVICE constexpr double cos_pi(double x) {
  // cos(pi x) = -sin(pi (x - 1/2)); Taylor terms of sin(pi y) up to y^21 for |y| <= 1/2.
  const double y = exact::sub(x, 0.5);
  const double y2 = exact::mul(y, y);
  constexpr double pi = 3.14159265358979323846;
  constexpr double pi2 = 9.86960440108935861883;
  double term = 1;
  double sum = 1;
  for (int k = 1; k <= 11; ++k) {
    term = exact::div(exact::mul(exact::mul(term, -pi2), y2), static_cast<double>(2 * k * (2 * k + 1)));
    sum = exact::add(sum, term);
  }
  return -exact::mul(exact::mul(pi, y), sum);
}

}  // namespace detail

/// A factor on every group's `lr`, as a plain value that lives on the device: step k (counted from 0, skipped steps not
/// counted) runs with `lr * factor(k)`.
struct LearningRateSchedule {
  enum class Shape : std::uint8_t { constant, cosine, linear };
  Shape shape = Shape::constant;
  std::uint64_t warmup_steps = 0;  ///< the factor rises linearly from 1 / warmup_steps to 1 over these
  std::uint64_t total_steps = 0;   ///< the factor reaches `final_factor` here and stays
  double final_factor = 0;         ///< in [0, 1]

  MEZZO_HOST_DEVICE constexpr double factor(std::uint64_t step) const {
    if (step < warmup_steps) return exact::div(static_cast<double>(step + 1), static_cast<double>(warmup_steps));
    if (shape == Shape::constant) return 1;
    if (step >= total_steps) return final_factor;
    const double done = exact::div(static_cast<double>(step - warmup_steps), static_cast<double>(total_steps - warmup_steps));
    const double left = shape == Shape::linear ? exact::sub(1.0, done) : exact::mul(0.5, exact::add(1.0, detail::cos_pi(done)));
    return exact::fma(exact::sub(1.0, final_factor), left, final_factor);
  }
};

/// Refuses a schedule that no run can follow. @throws InvalidArgument.
inline void validate(const LearningRateSchedule& schedule, std::source_location where = std::source_location::current()) {
  require(schedule.shape == LearningRateSchedule::Shape::constant || schedule.total_steps > schedule.warmup_steps, where,
          "LearningRateSchedule", "total_steps must exceed warmup_steps", schedule.total_steps);
  require(schedule.final_factor >= 0 && schedule.final_factor <= 1, where, "LearningRateSchedule", "final_factor must lie in [0, 1]",
          schedule.final_factor);
}

/// Half a cosine from 1 to `final_factor`, after a linear warm-up. Source: Loshchilov and Hutter, SGDR, without restarts.
inline LearningRateSchedule cosine_schedule(std::uint64_t total_steps, std::uint64_t warmup_steps = 0, double final_factor = 0) {
  return {LearningRateSchedule::Shape::cosine, warmup_steps, total_steps, final_factor};
}

/// A straight line from 1 to `final_factor`, after a linear warm-up.
inline LearningRateSchedule linear_schedule(std::uint64_t total_steps, std::uint64_t warmup_steps = 0, double final_factor = 0) {
  return {LearningRateSchedule::Shape::linear, warmup_steps, total_steps, final_factor};
}

/// 1 throughout, after a linear warm-up.
inline LearningRateSchedule constant_schedule(std::uint64_t warmup_steps = 0) {
  return {LearningRateSchedule::Shape::constant, warmup_steps, 0, 1};
}

}  // namespace mezzo
