#pragma once
// Stochastic gradient descent with momentum.

#include <mezzo/optim/update_rule.hpp>
#include <mezzo/numeric/finite.hpp>

namespace mezzo {

/// `d <- g + weight_decay * w`; `b <- momentum * b + (1 - dampening) * d`, on the first step `b <- d`;
/// `w <- w - lr * (nesterov ? d + momentum * b : b)`. While momentum is 0, `b` is the last `d`.
/// Source: torch.optim.SGD.
struct Sgd {
  struct Options {
    float lr = 1e-3f;          ///< >= 0
    float momentum = 0.f;      ///< >= 0; 0: plain gradient descent
    float dampening = 0.f;     ///< any finite value; not applied on the first step
    float weight_decay = 0.f;  ///< >= 0
    bool nesterov = false;     ///< needs momentum > 0 and dampening 0
  };

  struct Scalars {
    float lr, momentum, dampened, weight_decay;
    bool nesterov;
  };

  static constexpr int moments = 1;

  static void validate(const Options& options, std::source_location where) {
    const auto not_negative = [](float x) { return is_finite(x) && x >= 0.f; };
    require(not_negative(options.lr), where, "Sgd::Options", "lr must be finite and not negative", options.lr);
    require(not_negative(options.momentum), where, "Sgd::Options", "momentum must be finite and not negative", options.momentum);
    require(is_finite(options.dampening), where, "Sgd::Options", "dampening must be finite", options.dampening);
    require(not_negative(options.weight_decay), where, "Sgd::Options", "weight_decay must be finite and not negative", options.weight_decay);
    require(!options.nesterov || (options.momentum > 0.f && options.dampening == 0.f), where, "Sgd::Options",
            "nesterov needs momentum above 0 and dampening 0", options.momentum);
  }

  MEZZO_HOST_DEVICE static Scalars scalars(const Options& options, double lr, std::uint64_t step) {
    const bool first = step == 1 || options.momentum == 0.f;
    return {.lr = exact::to_float(lr),
            .momentum = options.momentum,
            .dampened = first ? 1.f : exact::sub(1.f, options.dampening),
            .weight_decay = options.weight_decay,
            .nesterov = options.nesterov};
  }

  MEZZO_HOST_DEVICE static void update(const Scalars& s, float& weight, float gradient, float& buffer) {
    const float decayed = exact::fma(s.weight_decay, weight, gradient);
    buffer = exact::fma(s.momentum, buffer, exact::mul(s.dampened, decayed));
    const float direction = s.nesterov ? exact::fma(s.momentum, buffer, decayed) : buffer;
    // A rate of 0 changes no bit, neither of -0 nor where the direction has overflowed.
    if ((to_bits(s.lr) & ~element_traits<float>::sign_mask) != 0) weight = exact::fma(exact::neg(s.lr), direction, weight);
  }
};
static_assert(UpdateRule<Sgd>);

}  // namespace mezzo
