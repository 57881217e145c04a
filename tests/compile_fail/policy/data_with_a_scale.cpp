// error: autocast: data with a scale is not cast behind your back. Pass argument_view<Policy, Op>(with_scale(data, scale))
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
using Fp8 = Autocast<float8_e4m3>;
const auto first = [](const auto& x) { return convert<float>(x[0]); };
#ifdef CONTROL
float f(const std::vector<float>& x) { return autocast<Fp8, op::matmul>(first, argument_view<Fp8, op::matmul>(with_scale(x, 2.f))); }
#else
float f(const std::vector<float>& x) { return autocast<Fp8, op::matmul>(first, with_scale(x, 2.f)); }
#endif
