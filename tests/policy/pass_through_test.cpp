// The list of ops, written down here a second time. torch.amp has no list for these.
#include <doctest/doctest.h>

#include "op_list.hpp"

#include <mezzo/policy/op/pass_through.hpp>

using namespace mezzo;
using namespace mezzo::test;

TEST_CASE("every op of the pass_through list has a tag with that rule, and the list holds nothing else") {
  static_assert(holds_exactly<pass_through_ops, CastRule::pass_through,
      op::relu, op::gelu, op::tanh, op::sigmoid, op::dropout, op::batch_norm, op::max_pool2d, op::avg_pool2d,
      op::adaptive_avg_pool2d, op::mean, op::transpose, op::copy>);
}
