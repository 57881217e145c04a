// error: Autocast<Low>: Low must be one of float16, bfloat16, float
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
Autocast<bfloat16>::low_type x;
#else
Autocast<short>::low_type x;
#endif
