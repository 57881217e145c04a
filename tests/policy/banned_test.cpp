// The list of ops, written down here a second time. Source: torch.amp.
#include <doctest/doctest.h>

#include "op_list.hpp"
#include "types.hpp"

using namespace mezzo;
using namespace mezzo::test;

TEST_CASE("every op of torch's banned list has a tag with that rule, and the list holds nothing else") {
  static_assert(holds_exactly<banned_ops, CastRule::banned,
      op::binary_cross_entropy>);
}

TEST_CASE("the banned op may be called outside autocast and in float32 training") {
  static_assert(same<compute_type_t<Autocast<float16>::disabled, op::binary_cross_entropy, float>, float>);
  static_assert(same<compute_type_t<Autocast<float>, op::binary_cross_entropy, float>, float>);
}
