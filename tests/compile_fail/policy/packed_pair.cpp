// error: autocast: packed pairs (__half2, __nv_bfloat162) are not cast.
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
float f(float16 x) { return autocast<Policy, op::exp>([](float v) { return v; }, x); }
#else
float f(__half2 x) { return autocast<Policy, op::exp>([](float v) { return v; }, x); }
#endif
