// error: a view needs data in memory and its size
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
auto f(float16* data) { return argument_view<Policy, op::exp>(data, 3); }
#else
auto f(float16* data) { return argument_view<Policy, op::exp>(data); }
#endif
