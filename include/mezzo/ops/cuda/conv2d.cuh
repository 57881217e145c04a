#pragma once
// Convolution on CUDA: through cuDNN where the program is built with it (MEZZO_HAS_CUDNN), else with the toolkit alone.

#include <mezzo/ops/cublas/conv2d.cuh>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/policy/op/lower_precision.hpp>

#if defined(MEZZO_HAS_CUDNN) && MEZZO_HAS_CUDNN
#include <mezzo/ops/cudnn/conv2d.cuh>
#endif

namespace mezzo::detail {

#if defined(MEZZO_HAS_CUDNN) && MEZZO_HAS_CUDNN
using CudaConv2d = cudnn::GraphConv2d;
#else
using CudaConv2d = cublas::GatheredConv2d;
#endif

template <>
struct Backend<CudaExecutor, op::conv2d> : CudaConv2d {};

}  // namespace mezzo::detail
