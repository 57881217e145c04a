// error: trace_call<Policy, Op, Pass, Types>: Types must be what the op wrote and what it read
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/traced.hpp>
using namespace mezzo;
#ifdef CONTROL
void f() { trace_call<Autocast<float16>, op::conv2d, TracedPass::backward, float(float16)>(); }
#else
void f() { trace_call<Autocast<float16>, op::conv2d, TracedPass::backward, float16>(); }
#endif
