// error: data is never cast behind your back
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
float16 f(const float16* x) { return autocast<Policy, op::matmul>([](const float16* p) { return p[0]; }, x); }
#else
float16 f(const float* x) { return autocast<Policy, op::matmul>([](const float* p) { return p[0]; }, x); }
#endif
