#pragma once
// What the two halves of the program share: the types, and makers that only nvcc can compile.

#include <mezzo/mezzo.hpp>

#include "support/skip.hpp"

namespace two_units {

// Limits that have no short decimal, so that names of these types differ where a compiler prints them shortened.
inline constexpr mezzo::LossScaleConfig config{.init_scale = 1000.0001f, .growth_interval = 2};

using Scaler = mezzo::DynamicLossScaler<config>;
using Optimizer = mezzo::MasterOptimizer<mezzo::AdamW, mezzo::float16>;

struct Device {
  bool there;
  cudaStream_t stream;
};
Device open_device();

Scaler make_scaler(cudaStream_t stream);
Optimizer make_optimizer(cudaStream_t stream, const std::vector<Optimizer::Parameter>& parameters, const mezzo::AdamW::Options& options);

/// Takes the scaler by its type: both compilers must give this function one name.
float scale_seen_by_nvcc(const Scaler& scaler);

}  // namespace two_units
