// error: the types of a call need at least one argument with an element type
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
compute_type_t<Policy, op::exp, float> x;
#else
compute_type_t<Policy, op::exp> x;
#endif
