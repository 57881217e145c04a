// error: Use binary_cross_entropy_with_logits, which takes the values before the sigmoid
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
compute_type_t<Policy, op::binary_cross_entropy_with_logits, float> x;
#else
compute_type_t<Policy, op::binary_cross_entropy, float> x;
#endif
