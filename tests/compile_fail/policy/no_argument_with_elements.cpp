// error: the types of a call need at least one argument with an element type
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
struct Settings {};
#ifdef CONTROL
const float y = autocast<Policy, op::exp>([](float x, Settings) { return x; }, 1.f, Settings());
#else
const float y = autocast<Policy, op::exp>([](Settings) { return 1.f; }, Settings());
#endif
