// The list of ops, written down here a second time. Source: torch.amp.
#include <doctest/doctest.h>

#include "op_list.hpp"

#include <mezzo/policy/op/lower_precision.hpp>

using namespace mezzo;
using namespace mezzo::test;

TEST_CASE("every op of torch's lower_precision list has a tag with that rule, and the list holds nothing else") {
  static_assert(holds_exactly<lower_precision_ops, CastRule::lower_precision,
      op::conv1d, op::conv2d, op::conv3d, op::conv_tbc, op::conv_transpose1d, op::conv_transpose2d,
      op::conv_transpose3d, op::convolution, op::prelu, op::addmm, op::addmv, op::addr, op::matmul, op::einsum,
      op::mm, op::mv, op::linalg_vecdot, op::linear, op::addbmm, op::baddbmm, op::bmm, op::chain_matmul,
      op::linalg_multi_dot, op::lstm_cell, op::gru_cell, op::rnn_tanh_cell, op::rnn_relu_cell,
      op::scaled_dot_product_attention>);
}

TEST_CASE("the ops that are one matrix product may run with an 8-bit low type") {
  static_assert(op::matmul::is_gemm && op::mm::is_gemm && op::bmm::is_gemm && op::linear::is_gemm && op::addmm::is_gemm &&
                op::addbmm::is_gemm && op::baddbmm::is_gemm);
}
