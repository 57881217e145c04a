#pragma once
// One run: from what the command line and the environment ask for to the types of `train`.

#include <mezzo/policy/dispatch.hpp>

#include "train.hpp"

namespace cifar10 {

using mezzo::Autocast;

template <mezzo::Executor Where>
Result run(const Where& executor, Precision precision, bool autocast, const Options& options, const Dataset& training,
           const Dataset& test, Output& output) {
  constexpr mezzo::PolicyChoices<Autocast<float>, Autocast<mezzo::float16>, Autocast<mezzo::bfloat16>, Autocast<float>::disabled>
      choices{"float32", "float16", "bfloat16", "autocast off"};
  const char* policy = name_of(precision);
  if (precision == Precision::float16_unscaled) policy = "float16";
  if (precision == Precision::tf32) policy = "float32";
  if (!autocast) policy = "autocast off";
  const auto train_with = [&](mezzo::LossScalerBase& scaler) {
    return choices.dispatch(policy, [&]<class Policy>(Policy) {
      // Gradients that are added up over several passes stay in float: 16 bits would lose the small ones.
      if (options.accumulate > 1) return train<Policy, float>(executor, precision, scaler, options, training, test, output);
      return train<Policy, low_t<Policy>>(executor, precision, scaler, options, training, test, output);
    });
  };
  // float16 needs its gradients scaled; float32 and bfloat16 have exponents enough.
  if (precision == Precision::float16 || options.scaling == Scaling::dynamic) {
    mezzo::DynamicLossScaler<scale_config> scaler(executor);
    return train_with(scaler);
  }
  mezzo::NoLossScaler::with<mezzo::Check::skip_nonfinite> scaler(executor);
  return train_with(scaler);
}

}  // namespace cifar10
