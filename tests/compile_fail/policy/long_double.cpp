// error: autocast: long double is no element type of mezzo
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
double f(double x) { return autocast<Policy, op::exp>([](auto v) { return v; }, x); }
#else
double f(long double x) { return autocast<Policy, op::exp>([](auto v) { return v; }, x); }
#endif
