#pragma once
// Tags of the ops that run in float: their range or their cancellation does not fit 16 bits.

#include <mezzo/policy/op_tag.hpp>

namespace mezzo::op {

// -- Element by element ----------------------------------------------------------------------------------
struct acos : Follows<CastRule::float32> { static constexpr const char* name = "acos"; };
struct asin : Follows<CastRule::float32> { static constexpr const char* name = "asin"; };
struct cosh : Follows<CastRule::float32> { static constexpr const char* name = "cosh"; };
struct erfinv : Follows<CastRule::float32> { static constexpr const char* name = "erfinv"; };
struct exp : Follows<CastRule::float32> { static constexpr const char* name = "exp"; };
struct expm1 : Follows<CastRule::float32> { static constexpr const char* name = "expm1"; };
struct log : Follows<CastRule::float32> { static constexpr const char* name = "log"; };
struct log10 : Follows<CastRule::float32> { static constexpr const char* name = "log10"; };
struct log2 : Follows<CastRule::float32> { static constexpr const char* name = "log2"; };
struct log1p : Follows<CastRule::float32> { static constexpr const char* name = "log1p"; };
struct pow : Follows<CastRule::float32> { static constexpr const char* name = "pow"; };
struct reciprocal : Follows<CastRule::float32> { static constexpr const char* name = "reciprocal"; };
struct rsqrt : Follows<CastRule::float32> { static constexpr const char* name = "rsqrt"; };
struct sinh : Follows<CastRule::float32> { static constexpr const char* name = "sinh"; };
struct softplus : Follows<CastRule::float32> { static constexpr const char* name = "softplus"; };
struct tan : Follows<CastRule::float32> { static constexpr const char* name = "tan"; };

// -- Normalisation and norms -----------------------------------------------------------------------------
struct layer_norm : Follows<CastRule::float32> { static constexpr const char* name = "layer_norm"; };
struct group_norm : Follows<CastRule::float32> { static constexpr const char* name = "group_norm"; };
struct rms_norm : Follows<CastRule::float32> { static constexpr const char* name = "rms_norm"; };
struct normalize : Follows<CastRule::float32> { static constexpr const char* name = "normalize"; };
struct renorm : Follows<CastRule::float32> { static constexpr const char* name = "renorm"; };
struct frobenius_norm : Follows<CastRule::float32> { static constexpr const char* name = "frobenius_norm"; };
struct nuclear_norm : Follows<CastRule::float32> { static constexpr const char* name = "nuclear_norm"; };

// -- Losses ----------------------------------------------------------------------------------------------
struct binary_cross_entropy_with_logits : Follows<CastRule::float32> {
  static constexpr const char* name = "binary_cross_entropy_with_logits";
};
struct cosine_embedding_loss : Follows<CastRule::float32> { static constexpr const char* name = "cosine_embedding_loss"; };
struct cross_entropy : Follows<CastRule::float32> { static constexpr const char* name = "cross_entropy"; };
struct hinge_embedding_loss : Follows<CastRule::float32> { static constexpr const char* name = "hinge_embedding_loss"; };
struct huber_loss : Follows<CastRule::float32> { static constexpr const char* name = "huber_loss"; };
struct kl_div : Follows<CastRule::float32> { static constexpr const char* name = "kl_div"; };
struct l1_loss : Follows<CastRule::float32> { static constexpr const char* name = "l1_loss"; };
struct margin_ranking_loss : Follows<CastRule::float32> { static constexpr const char* name = "margin_ranking_loss"; };
struct mse_loss : Follows<CastRule::float32> { static constexpr const char* name = "mse_loss"; };
struct multi_margin_loss : Follows<CastRule::float32> { static constexpr const char* name = "multi_margin_loss"; };
struct multilabel_margin_loss : Follows<CastRule::float32> { static constexpr const char* name = "multilabel_margin_loss"; };
struct nll_loss : Follows<CastRule::float32> { static constexpr const char* name = "nll_loss"; };
struct nll_loss2d : Follows<CastRule::float32> { static constexpr const char* name = "nll_loss2d"; };
struct poisson_nll_loss : Follows<CastRule::float32> { static constexpr const char* name = "poisson_nll_loss"; };
struct smooth_l1_loss : Follows<CastRule::float32> { static constexpr const char* name = "smooth_l1_loss"; };
struct soft_margin_loss : Follows<CastRule::float32> { static constexpr const char* name = "soft_margin_loss"; };
struct triplet_margin_loss : Follows<CastRule::float32> { static constexpr const char* name = "triplet_margin_loss"; };

// -- Distances and sums of exponentials ------------------------------------------------------------------
struct cdist : Follows<CastRule::float32> { static constexpr const char* name = "cdist"; };
struct cosine_similarity : Follows<CastRule::float32> { static constexpr const char* name = "cosine_similarity"; };
struct dist : Follows<CastRule::float32> { static constexpr const char* name = "dist"; };
struct logsumexp : Follows<CastRule::float32> { static constexpr const char* name = "logsumexp"; };
struct pdist : Follows<CastRule::float32> { static constexpr const char* name = "pdist"; };
struct softmin : Follows<CastRule::float32> { static constexpr const char* name = "softmin"; };

// -- Interpolation ---------------------------------------------------------------------------------------
struct upsample_nearest1d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_nearest1d"; };
struct upsample_nearest2d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_nearest2d"; };
struct upsample_nearest3d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_nearest3d"; };
struct upsample_nearest_exact1d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_nearest_exact1d"; };
struct upsample_nearest_exact2d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_nearest_exact2d"; };
struct upsample_nearest_exact3d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_nearest_exact3d"; };
struct upsample_linear1d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_linear1d"; };
struct upsample_bilinear2d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_bilinear2d"; };
struct upsample_bilinear2d_aa : Follows<CastRule::float32> { static constexpr const char* name = "upsample_bilinear2d_aa"; };
struct upsample_trilinear3d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_trilinear3d"; };
struct upsample_bicubic2d : Follows<CastRule::float32> { static constexpr const char* name = "upsample_bicubic2d"; };
struct upsample_bicubic2d_aa : Follows<CastRule::float32> { static constexpr const char* name = "upsample_bicubic2d_aa"; };

}  // namespace mezzo::op

namespace mezzo {

/// Every tag of this header.
using float32_ops = OpList<
  op::acos, op::asin, op::cosh, op::erfinv, op::exp, op::expm1, op::log, op::log10, op::log2, op::log1p, op::pow,
  op::reciprocal, op::rsqrt, op::sinh, op::softplus, op::tan, op::layer_norm, op::group_norm, op::rms_norm,
  op::normalize, op::renorm, op::frobenius_norm, op::nuclear_norm, op::binary_cross_entropy_with_logits,
  op::cosine_embedding_loss, op::cross_entropy, op::hinge_embedding_loss, op::huber_loss, op::kl_div, op::l1_loss,
  op::margin_ranking_loss, op::mse_loss, op::multi_margin_loss, op::multilabel_margin_loss, op::nll_loss,
  op::nll_loss2d, op::poisson_nll_loss, op::smooth_l1_loss, op::soft_margin_loss, op::triplet_margin_loss, op::cdist,
  op::cosine_similarity, op::dist, op::logsumexp, op::pdist, op::softmin, op::upsample_nearest1d,
  op::upsample_nearest2d, op::upsample_nearest3d, op::upsample_nearest_exact1d, op::upsample_nearest_exact2d,
  op::upsample_nearest_exact3d, op::upsample_linear1d, op::upsample_bilinear2d, op::upsample_bilinear2d_aa,
  op::upsample_trilinear3d, op::upsample_bicubic2d, op::upsample_bicubic2d_aa>;

}  // namespace mezzo
