#pragma once
// The per-channel spans of a batch norm, by name: five floats of one size are easily mixed up.

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
  Span<T> variance;  ///< unbiased, as torch keeps it
};

/// The batch's statistics, which the backward pass needs; [channels] each.
template <class T>
struct BatchNormSaved {
  Span<T> mean;
  Span<T> inverse_deviation;  ///< 1 / sqrt(biased variance + epsilon)
};

/// Gradients by gamma and beta; [channels] each.
template <class T>
struct BatchNormGradients {
  Span<T> gamma;
  Span<T> beta;
};

struct BatchNormOptions {
  double epsilon = 1e-5;  ///< added to the variance, > 0
  double momentum = 0.1;  ///< share of the batch in the running statistics, in [0, 1]
};

}  // namespace mezzo
