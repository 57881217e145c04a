#pragma once
// Tags of the ops whose arguments must agree: all take the widest type among them.

#include <mezzo/policy/op_tag.hpp>

namespace mezzo::op {

// -- torch.amp's promote list ----------------------------------------------------------------------------
struct addcdiv : Follows<CastRule::promote> { static constexpr const char* name = "addcdiv"; };
struct addcmul : Follows<CastRule::promote> { static constexpr const char* name = "addcmul"; };
struct atan2 : Follows<CastRule::promote> { static constexpr const char* name = "atan2"; };
struct bilinear : Follows<CastRule::promote> { static constexpr const char* name = "bilinear"; };
struct cross : Follows<CastRule::promote> { static constexpr const char* name = "cross"; };
struct dot : Follows<CastRule::promote> { static constexpr const char* name = "dot"; };
struct vdot : Follows<CastRule::promote> { static constexpr const char* name = "vdot"; };
struct grid_sampler : Follows<CastRule::promote> { static constexpr const char* name = "grid_sampler"; };
struct index_put : Follows<CastRule::promote> { static constexpr const char* name = "index_put"; };
struct scatter_add : Follows<CastRule::promote> { static constexpr const char* name = "scatter_add"; };
struct tensordot : Follows<CastRule::promote> { static constexpr const char* name = "tensordot"; };

// -- By ordinary type promotion --------------------------------------------------------------------------
struct add : Follows<CastRule::promote> { static constexpr const char* name = "add"; };
struct sub : Follows<CastRule::promote> { static constexpr const char* name = "sub"; };
struct mul : Follows<CastRule::promote> { static constexpr const char* name = "mul"; };
struct div : Follows<CastRule::promote> { static constexpr const char* name = "div"; };
struct cat : Follows<CastRule::promote> { static constexpr const char* name = "cat"; };
struct stack : Follows<CastRule::promote> { static constexpr const char* name = "stack"; };

// -- Comparisons: the arguments are promoted, the result is bool -----------------------------------------
struct equal : Follows<CastRule::promote> { static constexpr const char* name = "equal"; using result_type = bool; };
struct eq : Follows<CastRule::promote> { static constexpr const char* name = "eq"; using result_type = bool; };
struct ne : Follows<CastRule::promote> { static constexpr const char* name = "ne"; using result_type = bool; };
struct ge : Follows<CastRule::promote> { static constexpr const char* name = "ge"; using result_type = bool; };
struct gt : Follows<CastRule::promote> { static constexpr const char* name = "gt"; using result_type = bool; };
struct le : Follows<CastRule::promote> { static constexpr const char* name = "le"; using result_type = bool; };
struct lt : Follows<CastRule::promote> { static constexpr const char* name = "lt"; using result_type = bool; };

}  // namespace mezzo::op

namespace mezzo {

/// Every tag of this header.
using promote_ops = OpList<
  op::addcdiv, op::addcmul, op::atan2, op::bilinear, op::cross, op::dot, op::vdot, op::grid_sampler, op::index_put,
  op::scatter_add, op::tensordot, op::add, op::sub, op::mul, op::div, op::cat, op::stack, op::equal, op::eq, op::ne,
  op::ge, op::gt, op::le, op::lt>;

}  // namespace mezzo
