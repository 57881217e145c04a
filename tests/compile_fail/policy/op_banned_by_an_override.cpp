// error: this op is banned under a low-precision policy
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
using Strict = Policy::with<op::pow, CastRule::banned>;
#ifdef CONTROL
result_type_t<Strict, op::exp, float> x;
#else
result_type_t<Strict, op::pow, float> x;
#endif
