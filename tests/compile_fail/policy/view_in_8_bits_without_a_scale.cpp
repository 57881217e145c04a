// error: argument_view: nothing is cast to an 8-bit type without a scale. Pass with_scale(range, scale)
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
using Fp8 = Autocast<float8_e4m3>;
#ifdef CONTROL
auto f(std::span<const float> x) { return argument_view<Fp8, op::matmul>(with_scale(x, 2.f)); }
#else
auto f(std::span<const float> x) { return argument_view<Fp8, op::matmul>(x); }
#endif
