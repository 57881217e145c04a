#pragma once
// Adam with decoupled weight decay.

#include <mezzo/optim/update_rule.hpp>
#include <mezzo/numeric/finite.hpp>

namespace mezzo {

/// `w <- w - lr * weight_decay * w`; `m <- beta1 * m + (1 - beta1) * g`; `v <- beta2 * v + (1 - beta2) * g^2`;
/// `w <- w - lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon)`, all in float.
///
/// A finite gradient whose `(1 - beta2) * g^2` overflows float (5.8e20 with the default) makes `v` infinite: that element then
/// rests (its step is 0, no NaN). An element rests too while its denominator is 0, which takes epsilon 0.
/// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization; torch.optim.AdamW.
struct AdamW {
  struct Options {
    float lr = 1e-3f;           ///< >= 0
    float beta1 = .9f;          ///< in [0, 1)
    float beta2 = .999f;        ///< in [0, 1)
    float epsilon = 1e-8f;      ///< >= 0; kept in float, where it does not vanish
    float weight_decay = .01f;  ///< >= 0
  };

  struct Scalars {
    float keep;            ///< 1 - lr * weight_decay
    float beta1, one_minus_beta1;
    float beta2, one_minus_beta2;
    float step_size;       ///< lr / (1 - beta1^t)
    float root_correction; ///< 1 / sqrt(1 - beta2^t)
    float epsilon;
  };

  static constexpr int moments = 2;
  static constexpr bool needs_float_moments = true;  // squares below 6e-8 vanish in float16; beta2 = .999 cannot move a bfloat16

  static void validate(const Options& options, std::source_location where) {
    const auto not_negative = [](float x) { return is_finite(x) && x >= 0.f; };
    const auto beta = [&](float x) { return not_negative(x) && x < 1.f; };
    require(not_negative(options.lr), where, "AdamW::Options", "lr must be finite and not negative", options.lr);
    require(beta(options.beta1), where, "AdamW::Options", "beta1 must lie in [0, 1)", options.beta1);
    require(beta(options.beta2), where, "AdamW::Options", "beta2 must lie in [0, 1)", options.beta2);
    require(not_negative(options.epsilon), where, "AdamW::Options", "epsilon must be finite and not negative", options.epsilon);
    require(not_negative(options.weight_decay), where, "AdamW::Options", "weight_decay must be finite and not negative", options.weight_decay);
  }

  MEZZO_HOST_DEVICE static Scalars scalars(const Options& options, double lr, std::uint64_t step) {
    const double beta1 = exact::to_double(options.beta1);
    const double beta2 = exact::to_double(options.beta2);
    const double correction1 = exact::sub(1.0, exact::pow_int(beta1, step));
    const double correction2 = exact::sub(1.0, exact::pow_int(beta2, step));
    return {.keep = exact::to_float(exact::fma(-lr, exact::to_double(options.weight_decay), 1.0)),
            .beta1 = options.beta1,
            .one_minus_beta1 = exact::to_float(exact::sub(1.0, beta1)),
            .beta2 = options.beta2,
            .one_minus_beta2 = exact::to_float(exact::sub(1.0, beta2)),
            .step_size = exact::to_float(exact::div(lr, correction1)),
            .root_correction = exact::to_float(exact::div(1.0, exact::sqrt(correction2))),
            .epsilon = options.epsilon};
  }

  MEZZO_HOST_DEVICE static void update(const Scalars& s, float& weight, float gradient, float& m, float& v) {
    const auto is_zero = [](float x) { return (to_bits(x) & ~element_traits<float>::sign_mask) == 0; };
    // With a beta of 0 nothing of the old moment is left, be it infinite.
    const auto decayed = [&](float beta, float moment, float part) { return is_zero(beta) ? part : exact::fma(beta, moment, part); };
    m = decayed(s.beta1, m, exact::mul(s.one_minus_beta1, gradient));
    v = decayed(s.beta2, v, exact::mul(exact::mul(s.one_minus_beta2, gradient), gradient));
    const float denominator = exact::fma(exact::sqrt(v), s.root_correction, s.epsilon);
    const float direction = is_zero(m) || is_zero(denominator) ? 0.f : exact::div(m, denominator);
    // A rate of 0 changes no bit, neither of -0 nor where the direction has overflowed.
    if (!is_zero(s.step_size)) weight = exact::fma(exact::neg(s.step_size), direction, exact::mul(s.keep, weight));
  }
};
static_assert(UpdateRule<AdamW>);

}  // namespace mezzo
