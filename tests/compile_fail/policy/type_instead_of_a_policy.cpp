// error: the first template argument must be a policy. Write Autocast<float16>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
compute_type_t<Policy, op::exp, float> x;
#else
compute_type_t<float16, op::exp, float> x;
#endif
