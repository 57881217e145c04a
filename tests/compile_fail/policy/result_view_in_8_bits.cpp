// error: result_view: nothing is cast to an 8-bit type without a scale.
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
auto f(std::span<bfloat16> y) { return result_view<Policy, op::exp, float16>(y); }
#else
auto f(std::span<float8_e4m3> y) { return result_view<Policy, op::exp, float16>(y); }
#endif
