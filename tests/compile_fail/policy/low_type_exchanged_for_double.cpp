// error: Autocast<double>: double is no low type
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
result_type_t<Policy::with_low<float>, op::exp, float> x;
#else
result_type_t<Policy::with_low<double>, op::exp, float> x;
#endif
