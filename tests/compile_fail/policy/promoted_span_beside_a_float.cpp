// error: data is never cast behind your back
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
const auto first = [](const auto& x, auto) { return x[0]; };
#ifdef CONTROL
float16 f(std::span<const float16> x) { return autocast<Policy, op::add>(first, x, float16()); }
#else
float16 f(std::span<const float16> x) { return autocast<Policy, op::add>(first, x, 1.f); }
#endif
