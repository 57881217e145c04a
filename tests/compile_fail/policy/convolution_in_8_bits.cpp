// error: Use Autocast<float16> or Autocast<bfloat16> here, and name the 8-bit policy at the GEMM calls.
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
using Fp8 = Autocast<float8_e5m2>;
#ifdef CONTROL
argument_type_t<Fp8, op::linear, float16> x;
#else
argument_type_t<Fp8, op::conv2d, float16> x;
#endif
