#pragma once
// Operands of ops that come as several spans, by name: five floats of one size are easily mixed up.

#include <cstdint>

#include <mezzo/core/span.hpp>

namespace mezzo {

/// What a batch norm multiplies by and adds; [channels] each.
template <class T>
struct BatchNormWeights {
  Span<const T> gamma;
  Span<const T> beta;
};

/// Running statistics; [channels] each. Both empty: not kept.
template <class T>
struct BatchNormRunning {
  Span<T> mean;
  Span<T> variance;  ///< unbiased, as torch keeps it; of a single row, where torch refuses, the biased one: 0
};

/// The batch's statistics, which the backward pass needs; [channels] each.
template <class T>
struct BatchNormSaved {
  Span<T> mean;
  Span<T> inv_std;  ///< 1 / sqrt(biased variance + epsilon)
};

/// Gradients by gamma and beta; [channels] each.
template <class T>
struct BatchNormGradients {
  Span<T> gamma;
  Span<T> beta;
};

/// The two numbers of a batch norm; the defaults are torch's.
struct BatchNormOptions {
  double epsilon = 1e-5;  ///< added to the variance, > 0
  double momentum = 0.1;  ///< share of the batch in the running statistics, in [0, 1]
};

/// What a classification loss measured; one element each, in the executor's memory. An empty span is left out.
template <class T>
struct LossResult {
  Span<T> loss = {};                ///< the mean loss
  Span<std::int32_t> correct = {};  ///< rows whose largest logit is the label's
};

}  // namespace mezzo
