// Optimizers in float64, each value beside a bound on the error of the float32 computation.
//
// Running error analysis: a float operation whose exact result, given its float arguments, is x + d with |d| <= e (x being
// the float64 value) rounds to within `rounded(x, e)` of x. So every bound below is the sum of what reaches an operation and
// of its own rounding. u = 2^-24 for float32 (or float32 scalars), 2^-11 and 2^-8 where a value is stored in 16 bits.
// float64's own roundings are 2^-29 of that: the comparison allows 0.1 % for them.
#pragma once

#include <mezzo/numeric/convert.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/sgd.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace optim_test {

inline constexpr double u32 = 0x1p-24;

/// A float64 value and how far from it the tested value may be.
struct Bounded {
  double x = 0;
  double e = 0;
};

inline double rounded(double x, double e, double u = u32, double smallest = 0x1p-150) { return e + u * (std::fabs(x) + e) + smallest; }

/// The same after a store in type T: half an ulp, or half the smallest subnormal.
template <class T>
Bounded stored(Bounded v) {
  if constexpr (!std::is_same_v<T, float>) {
    v.e = rounded(v.x, v.e, mezzo::element_limits<T>::epsilon / 2, static_cast<double>(mezzo::convert<float>(mezzo::element_limits<T>::smallest_subnormal())) / 2);
  }
  return v;
}

inline double wide(float x) { return static_cast<double>(x); }

struct SgdReference {
  using Options = mezzo::Sgd::Options;
  /// One element's step; `Weight` and `Moment` are the types that keep them.
  template <class Weight, class Moment>
  static void step(const Options& o, double lr, std::uint64_t step, Bounded g, Bounded& w, Bounded& b, Bounded&) {
    const double mu = wide(o.momentum), wd = wide(o.weight_decay);
    const double damped = step == 1 || o.momentum == 0.f ? 1. : 1. - wide(o.dampening);  // in float32: error u
    // What each operation adds by itself.
    const double d = wd * w.x + g.x, d_own = rounded(d, wd * w.e + g.e) - (wd * w.e + g.e);
    const double part = damped * d, part_error = std::fabs(damped) * (wd * w.e + g.e + d_own);
    const double part_own = rounded(part, part_error + u32 * std::fabs(part)) - part_error;
    const double buffer = mu * b.x + part, buffer_error = mu * b.e + part_error + part_own;
    const double buffer_own = rounded(buffer, buffer_error) - buffer_error;
    // direction = ahead * d + behind * b, so that w's error reaches the new w by |1 - lr ahead wd|, not by 1 + lr ahead wd.
    const double ahead = o.nesterov ? 1. + mu * damped : damped, behind = o.nesterov ? mu * mu : mu;
    const double direction = o.nesterov ? d + mu * buffer : buffer;
    double own = std::fabs(ahead) * d_own + (o.nesterov ? mu : 1.) * (part_own + buffer_own);
    const double direction_error = std::fabs(ahead) * wd * w.e + behind * b.e + own;
    if (o.nesterov) own += rounded(direction, direction_error) - direction_error;
    const double moved = w.x - lr * direction;
    const double reached = std::fabs(1. - lr * ahead * wd) * w.e + lr * (std::fabs(ahead) * g.e + behind * b.e + own) +
                           u32 * lr * (std::fabs(direction) + direction_error);
    w = stored<Weight>({moved, rounded(moved, reached)});
    b = stored<Moment>({buffer, buffer_error + buffer_own});
  }
};

struct AdamWReference {
  using Options = mezzo::AdamW::Options;
  template <class Weight, class Moment>
  static void step(const Options& o, double lr, std::uint64_t step, Bounded g, Bounded& w, Bounded& m, Bounded& v) {
    const double b1 = wide(o.beta1), b2 = wide(o.beta2), eps = wide(o.epsilon), keep = 1. - lr * wide(o.weight_decay);
    const double size = lr / (1. - std::pow(b1, static_cast<double>(step)));
    const double root = 1. / std::sqrt(1. - std::pow(b2, static_cast<double>(step)));
    // Scalars are rounded to float once from doubles whose own error (step roundings in a power, divided by 1 - beta^step) is
    // far below: 1.5 u covers both.
    const double us = 1.5 * u32;
    // m: the scalar's error and the product's rounding, then the fused sum's.
    const double gm = (1. - b1) * g.x;
    Bounded m2{b1 * m.x + gm, 0};
    m2.e = rounded(m2.x, b1 * m.e + rounded(gm, (1. - b1) * g.e + us * std::fabs(gm)));
    // v: the scalar's error and two products.
    const double gv = (1. - b2) * g.x * g.x, g_error = (1. - b2) * (2. * std::fabs(g.x) + g.e) * g.e;
    Bounded v2{b2 * v.x + gv, 0};
    v2.e = rounded(v2.x, b2 * v.e + rounded(gv, rounded(gv, g_error + us * gv)));
    const double s = std::sqrt(v2.x);
    const double s_error = rounded(s, std::max(std::sqrt(v2.x + v2.e) - s, s - std::sqrt(std::max(v2.x - v2.e, 0.))));
    const double denominator = s * root + eps;
    const double d_error = rounded(denominator, root * (s_error + us * (s + s_error)));
    Bounded direction{m2.x == 0. ? 0. : m2.x / denominator, 0};
    direction.e = denominator > d_error ? rounded(direction.x, (m2.e + std::fabs(direction.x) * d_error) / (denominator - d_error)) : HUGE_VAL;
    const double moved = keep * w.x - size * direction.x;
    const double kept_error = rounded(keep * w.x, keep * w.e + us * std::fabs(keep * w.x));
    w = stored<Weight>({moved, rounded(moved, kept_error + size * (direction.e + us * (std::fabs(direction.x) + direction.e)))});
    m = stored<Moment>(m2);
    v = stored<Moment>(v2);
  }
};

/// |x| as ulps of float32 values of w's size.
inline double in_ulps(double x, double w) {
  int exponent = 0;
  std::frexp(w, &exponent);
  return std::fabs(x) / std::ldexp(1., std::max(exponent, -125) - 24);
}

}  // namespace optim_test
