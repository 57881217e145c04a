#pragma once
// Every op. On the host, matmul and linear need a CBLAS at link time (CMake target mezzo::blas); all else needs nothing.

#include <mezzo/ops/add.hpp>
#include <mezzo/ops/batch_norm.hpp>
#include <mezzo/ops/batch_norm_relu.hpp>
#include <mezzo/ops/conv2d.hpp>
#include <mezzo/ops/float32_math.hpp>
#include <mezzo/ops/gemm.hpp>
#include <mezzo/ops/linear.hpp>
#include <mezzo/ops/pooling.hpp>
#include <mezzo/ops/relu.hpp>
#include <mezzo/ops/softmax_cross_entropy.hpp>
