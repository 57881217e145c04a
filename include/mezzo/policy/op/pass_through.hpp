#pragma once
// Tags of the ops that run in whatever type they get. On no list of torch.amp; a ResNet meets them.

#include <mezzo/policy/op_tag.hpp>

namespace mezzo::op {

// -- Activations -----------------------------------------------------------------------------------------
struct relu : Follows<CastRule::pass_through> { static constexpr const char* name = "relu"; };
struct gelu : Follows<CastRule::pass_through> { static constexpr const char* name = "gelu"; };
struct tanh : Follows<CastRule::pass_through> { static constexpr const char* name = "tanh"; };
struct sigmoid : Follows<CastRule::pass_through> { static constexpr const char* name = "sigmoid"; };
struct dropout : Follows<CastRule::pass_through> { static constexpr const char* name = "dropout"; };

// -- Normalisation and pooling ---------------------------------------------------------------------------
struct batch_norm : Follows<CastRule::pass_through> { static constexpr const char* name = "batch_norm"; };
struct max_pool2d : Follows<CastRule::pass_through> { static constexpr const char* name = "max_pool2d"; };
struct avg_pool2d : Follows<CastRule::pass_through> { static constexpr const char* name = "avg_pool2d"; };
struct adaptive_avg_pool2d : Follows<CastRule::pass_through> { static constexpr const char* name = "adaptive_avg_pool2d"; };
struct mean : Follows<CastRule::pass_through> { static constexpr const char* name = "mean"; };

// -- Movement --------------------------------------------------------------------------------------------
struct transpose : Follows<CastRule::pass_through> { static constexpr const char* name = "transpose"; };
struct copy : Follows<CastRule::pass_through> { static constexpr const char* name = "copy"; };

}  // namespace mezzo::op

namespace mezzo {

/// Every tag of this header.
using pass_through_ops = OpList<
  op::relu, op::gelu, op::tanh, op::sigmoid, op::dropout, op::batch_norm, op::max_pool2d, op::avg_pool2d,
  op::adaptive_avg_pool2d, op::mean, op::transpose, op::copy>;

}  // namespace mezzo
