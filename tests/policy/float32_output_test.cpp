// The list of ops, written down here a second time. Source: torch.amp.
#include <doctest/doctest.h>

#include "op_list.hpp"

#include <mezzo/policy/op/float32_output.hpp>

using namespace mezzo;
using namespace mezzo::test;

TEST_CASE("every op of torch's float32_output list has a tag with that rule, and the list holds nothing else") {
  static_assert(holds_exactly<float32_output_ops, CastRule::float32_output,
      op::prod, op::softmax, op::log_softmax, op::cumprod, op::cumsum, op::linalg_vector_norm,
      op::linalg_matrix_norm, op::sum, op::norm>);
}
