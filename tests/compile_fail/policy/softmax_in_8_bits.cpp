// error: an 8-bit low type is for GEMM only
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
using Fp8 = Autocast<float8_e4m3>;
#ifdef CONTROL
result_type_t<Fp8, op::matmul, float16> x;
#else
result_type_t<Fp8, op::softmax, float16> x;
#endif
