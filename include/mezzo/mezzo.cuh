#pragma once
// Everything: mezzo.hpp and what needs nvcc.

#include <mezzo/executor/cuda.cuh>
#include <mezzo/mezzo.hpp>
#include <mezzo/multi_tensor/cuda_runner.cuh>
