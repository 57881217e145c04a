#pragma once
// Every op, on the host and on CUDA. Link with cuBLASLt (CMake target mezzo::cublas); with cuDNN as well, and MEZZO_HAS_CUDNN
// defined, convolution runs on it (CMake target mezzo::cudnn does both).

#include <mezzo/ops/batch_norm_relu.hpp>
#include <mezzo/ops/cublas/gemm.cuh>
#include <mezzo/ops/cuda/add.cuh>
#include <mezzo/ops/cuda/batch_norm.cuh>
#include <mezzo/ops/cuda/conv2d.cuh>
#include <mezzo/ops/cuda/linear.cuh>
#include <mezzo/ops/cuda/pooling.cuh>
#include <mezzo/ops/cuda/relu.cuh>
#include <mezzo/ops/cuda/softmax_cross_entropy.cuh>
#include <mezzo/ops/ops.hpp>
