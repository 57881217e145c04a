// error: autocast: the function cannot be called with these arguments.
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
float f(float x) { return autocast<Policy, op::pow>([](float base, float exponent) { return base * exponent; }, x, 2.f); }
#else
float f(float x) { return autocast<Policy, op::pow>([](float base) { return base; }, x, 2.f); }
#endif
