// error: autocast: nothing is cast to an 8-bit type without a scale. Pass with_scale(x, scale)
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
using Fp8 = Autocast<float8_e4m3>;
const auto gemm = [](auto a, auto b) { return convert<float>(a) * convert<float>(b) / 4.f; };
#ifdef CONTROL
const float y = autocast<Fp8, op::matmul>(gemm, with_scale(1.f, 2.f), with_scale(1.f, 2.f));
#else
const float y = autocast<Fp8, op::matmul>(gemm, with_scale(1.f, 2.f), 1.f);
#endif
