#pragma once
// Tags of the ops that are refused under a low-precision policy.

#include <mezzo/policy/op_tag.hpp>

namespace mezzo::op {

// -- Losses ----------------------------------------------------------------------------------------------
struct binary_cross_entropy : Follows<CastRule::banned> {
  static constexpr const char* name = "binary_cross_entropy";
  template <bool Allowed>
  MEZZO_HOST_DEVICE static constexpr void allow() {
    static_assert(Allowed,
      "binary_cross_entropy is banned under a low-precision policy: its gradient does not fit in 16 bits. Use "
      "binary_cross_entropy_with_logits, which takes the values before the sigmoid, or lift the ban with "
      "Policy::with<op::binary_cross_entropy, CastRule::float32>.");
  }
};

}  // namespace mezzo::op

namespace mezzo {

/// Every tag of this header.
using banned_ops = OpList<
  op::binary_cross_entropy>;

}  // namespace mezzo
