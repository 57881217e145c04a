// The list of ops, written down here a second time. Source: torch.amp.
#include <doctest/doctest.h>

#include "op_list.hpp"

#include <mezzo/policy/op/float32.hpp>

using namespace mezzo;
using namespace mezzo::test;

TEST_CASE("every op of torch's float32 list has a tag with that rule, and the list holds nothing else") {
  static_assert(holds_exactly<float32_ops, CastRule::float32,
      op::acos, op::asin, op::cosh, op::erfinv, op::exp, op::expm1, op::log, op::log10, op::log2, op::log1p,
      op::reciprocal, op::rsqrt, op::sinh, op::tan, op::pow, op::softplus, op::layer_norm, op::group_norm,
      op::rms_norm, op::frobenius_norm, op::nuclear_norm, op::cosine_similarity, op::poisson_nll_loss,
      op::cosine_embedding_loss, op::nll_loss, op::nll_loss2d, op::cross_entropy, op::hinge_embedding_loss,
      op::kl_div, op::l1_loss, op::smooth_l1_loss, op::huber_loss, op::mse_loss, op::margin_ranking_loss,
      op::multilabel_margin_loss, op::soft_margin_loss, op::triplet_margin_loss, op::multi_margin_loss,
      op::binary_cross_entropy_with_logits, op::dist, op::pdist, op::cdist, op::renorm, op::logsumexp,
      op::normalize, op::softmin, op::upsample_nearest1d, op::upsample_nearest2d, op::upsample_nearest3d,
      op::upsample_nearest_exact1d, op::upsample_nearest_exact2d, op::upsample_nearest_exact3d,
      op::upsample_linear1d, op::upsample_bilinear2d, op::upsample_bilinear2d_aa, op::upsample_trilinear3d,
      op::upsample_bicubic2d, op::upsample_bicubic2d_aa>);
}
