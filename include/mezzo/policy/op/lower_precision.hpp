#pragma once
// Tags of the ops that run in the low type: heavy on multiply-adds, which tensor cores do in 16 bits.

#include <mezzo/policy/op_tag.hpp>

namespace mezzo::op {

// -- Convolutions ----------------------------------------------------------------------------------------
struct convolution : Follows<CastRule::lower_precision> { static constexpr const char* name = "convolution"; };
struct conv1d : Follows<CastRule::lower_precision> { static constexpr const char* name = "conv1d"; };
struct conv2d : Follows<CastRule::lower_precision> { static constexpr const char* name = "conv2d"; };
struct conv3d : Follows<CastRule::lower_precision> { static constexpr const char* name = "conv3d"; };
struct conv_tbc : Follows<CastRule::lower_precision> { static constexpr const char* name = "conv_tbc"; };
struct conv_transpose1d : Follows<CastRule::lower_precision> { static constexpr const char* name = "conv_transpose1d"; };
struct conv_transpose2d : Follows<CastRule::lower_precision> { static constexpr const char* name = "conv_transpose2d"; };
struct conv_transpose3d : Follows<CastRule::lower_precision> { static constexpr const char* name = "conv_transpose3d"; };

/// Base of the ops that are one matrix product: they may run with an 8-bit low type too.
struct MatrixProduct : Follows<CastRule::lower_precision> {
  static constexpr bool is_gemm = true;
};

// -- Products of matrices and vectors --------------------------------------------------------------------
struct matmul : MatrixProduct { static constexpr const char* name = "matmul"; };
struct mm : MatrixProduct { static constexpr const char* name = "mm"; };
struct mv : Follows<CastRule::lower_precision> { static constexpr const char* name = "mv"; };
struct bmm : MatrixProduct { static constexpr const char* name = "bmm"; };
struct addmm : MatrixProduct { static constexpr const char* name = "addmm"; };
struct addmv : Follows<CastRule::lower_precision> { static constexpr const char* name = "addmv"; };
struct addr : Follows<CastRule::lower_precision> { static constexpr const char* name = "addr"; };
struct addbmm : MatrixProduct { static constexpr const char* name = "addbmm"; };
struct baddbmm : MatrixProduct { static constexpr const char* name = "baddbmm"; };
struct linear : MatrixProduct { static constexpr const char* name = "linear"; };
struct linalg_vecdot : Follows<CastRule::lower_precision> { static constexpr const char* name = "linalg_vecdot"; };
struct linalg_multi_dot : Follows<CastRule::lower_precision> { static constexpr const char* name = "linalg_multi_dot"; };
struct chain_matmul : Follows<CastRule::lower_precision> { static constexpr const char* name = "chain_matmul"; };
struct einsum : Follows<CastRule::lower_precision> { static constexpr const char* name = "einsum"; };

// -- Recurrent cells and attention -----------------------------------------------------------------------
struct lstm_cell : Follows<CastRule::lower_precision> { static constexpr const char* name = "lstm_cell"; };
struct gru_cell : Follows<CastRule::lower_precision> { static constexpr const char* name = "gru_cell"; };
struct rnn_tanh_cell : Follows<CastRule::lower_precision> { static constexpr const char* name = "rnn_tanh_cell"; };
struct rnn_relu_cell : Follows<CastRule::lower_precision> { static constexpr const char* name = "rnn_relu_cell"; };
struct scaled_dot_product_attention : Follows<CastRule::lower_precision> {
  static constexpr const char* name = "scaled_dot_product_attention";
};

// -- Activations -----------------------------------------------------------------------------------------
struct prelu : Follows<CastRule::lower_precision> { static constexpr const char* name = "prelu"; };

}  // namespace mezzo::op

namespace mezzo {

/// Every tag of this header.
using lower_precision_ops = OpList<
  op::convolution, op::conv1d, op::conv2d, op::conv3d, op::conv_tbc, op::conv_transpose1d, op::conv_transpose2d,
  op::conv_transpose3d, op::matmul, op::mm, op::mv, op::bmm, op::addmm, op::addmv, op::addr, op::addbmm, op::baddbmm,
  op::linear, op::linalg_vecdot, op::linalg_multi_dot, op::chain_matmul, op::einsum, op::lstm_cell, op::gru_cell,
  op::rnn_tanh_cell, op::rnn_relu_cell, op::scaled_dot_product_attention, op::prelu>;

}  // namespace mezzo
