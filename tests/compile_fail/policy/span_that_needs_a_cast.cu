// error: Pass argument_view<Policy, Op>(data), which converts each element as it is loaded
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
const auto first = [](const auto& x) { return x[0]; };
#ifdef CONTROL
float f(std::span<const float16> x) { return autocast<Policy, op::exp>(first, argument_view<Policy, op::exp>(x)); }
#else
float f(std::span<const float16> x) { return autocast<Policy, op::exp>(first, x); }
#endif
