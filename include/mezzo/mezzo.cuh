#pragma once
// mezzo.hpp and what needs nvcc. The ops on CUDA, which need cuBLAS: mezzo/ops/ops.cuh.

#include <mezzo/executor/cuda.cuh>
#include <mezzo/mezzo.hpp>
#include <mezzo/multi_tensor/cuda_runner.cuh>
