#pragma once
// Every op tag: the complete CUDA lists of torch.amp and the ops a ResNet meets, one header for each rule.
//
// Write `op::exp`; a `using namespace mezzo::op` would turn `exp(x)` into the name of a tag.

#include <mezzo/policy/op/banned.hpp>
#include <mezzo/policy/op/float32.hpp>
#include <mezzo/policy/op/float32_output.hpp>
#include <mezzo/policy/op/lower_precision.hpp>
#include <mezzo/policy/op/pass_through.hpp>
#include <mezzo/policy/op/promote.hpp>

namespace mezzo {

/// Every tag that mezzo brings.
using all_ops = joined_ops_t<lower_precision_ops, float32_ops, float32_output_ops, promote_ops, pass_through_ops, banned_ops>;

}  // namespace mezzo
