// The list of ops, written down here a second time. Source: torch.amp.
#include <doctest/doctest.h>

#include "op_list.hpp"

#include <mezzo/policy/op/promote.hpp>

using namespace mezzo;
using namespace mezzo::test;

TEST_CASE("every op of torch's promote list has a tag with that rule, and the list holds nothing else") {
  static_assert(holds_exactly<promote_ops, CastRule::promote,
      op::addcdiv, op::addcmul, op::atan2, op::bilinear, op::cross, op::dot, op::vdot, op::grid_sampler,
      op::index_put, op::tensordot, op::scatter_add, op::add, op::sub, op::mul, op::div, op::cat, op::stack,
      op::equal, op::eq, op::ne, op::ge, op::gt, op::le, op::lt>);
}

TEST_CASE("the comparisons, and nothing else here, return bool") {
  static_assert(comparisons<op::equal, op::eq, op::ne, op::ge, op::gt, op::le, op::lt> == 7);
  static_assert(comparisons<op::addcdiv, op::addcmul, op::atan2, op::bilinear, op::cross, op::dot, op::vdot, op::grid_sampler,
    op::index_put, op::tensordot, op::scatter_add, op::add, op::sub, op::mul, op::div, op::cat, op::stack> == 0);
}
