// error: binary_cross_entropy is banned under a low-precision policy: its gradient does not fit in 16 bits.
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
using Lifted = Autocast<bfloat16>::with<op::binary_cross_entropy, CastRule::float32>;
const float y = autocast<Lifted, op::binary_cross_entropy>([](float p, float) { return p; }, 1.f, 1.f);
#else
using Plain = Autocast<bfloat16>;
const float y = autocast<Plain, op::binary_cross_entropy>([](float p, float) { return p; }, 1.f, 1.f);
#endif
