#pragma once
// `train` on CUDA. Each policy is compiled in a file of its own, which saves time on several cores.

#include <mezzo/mezzo.cuh>
#include <mezzo/ops/ops.cuh>

#include "place.cuh"

#include "../run.hpp"

#define CIFAR10_TRAIN(...) \
  template Result train<__VA_ARGS__, mezzo::CudaExecutor>(const mezzo::CudaExecutor&, Precision, mezzo::LossScalerBase&, \
                                                          const Options&, const Dataset&, const Dataset&, Output&)
