#pragma once
// Tags of the ops that read their arguments as they are and sum in float.

#include <mezzo/policy/op_tag.hpp>

namespace mezzo::op {

// -- Sums and products -----------------------------------------------------------------------------------
struct sum : Follows<CastRule::float32_output> { static constexpr const char* name = "sum"; };
struct prod : Follows<CastRule::float32_output> { static constexpr const char* name = "prod"; };
struct cumsum : Follows<CastRule::float32_output> { static constexpr const char* name = "cumsum"; };
struct cumprod : Follows<CastRule::float32_output> { static constexpr const char* name = "cumprod"; };

// -- Norms -----------------------------------------------------------------------------------------------
struct norm : Follows<CastRule::float32_output> { static constexpr const char* name = "norm"; };
struct linalg_vector_norm : Follows<CastRule::float32_output> { static constexpr const char* name = "linalg_vector_norm"; };
struct linalg_matrix_norm : Follows<CastRule::float32_output> { static constexpr const char* name = "linalg_matrix_norm"; };

// -- Soft maximum ----------------------------------------------------------------------------------------
struct softmax : Follows<CastRule::float32_output> { static constexpr const char* name = "softmax"; };
struct log_softmax : Follows<CastRule::float32_output> { static constexpr const char* name = "log_softmax"; };

}  // namespace mezzo::op

namespace mezzo {

/// Every tag of this header.
using float32_output_ops = OpList<
  op::sum, op::prod, op::cumsum, op::cumprod, op::norm, op::linalg_vector_norm, op::linalg_matrix_norm, op::softmax,
  op::log_softmax>;

}  // namespace mezzo
