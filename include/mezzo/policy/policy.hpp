#pragma once
// Policies, the types of a call, autocast, custom_fwd and custom_bwd. The tags of torch.amp's ops: mezzo/policy/ops.hpp.

#include <mezzo/policy/autocast.hpp>
#include <mezzo/policy/call.hpp>
#include <mezzo/policy/cast_rule.hpp>
#include <mezzo/policy/cast_types.hpp>
#include <mezzo/policy/custom_function.hpp>
#include <mezzo/policy/op_tag.hpp>
