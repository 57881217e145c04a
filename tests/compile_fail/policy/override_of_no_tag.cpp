// error: this type is no op tag. An op tag names an op and carries its default rule.
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
using namespace mezzo;
struct my_norm {
#ifdef CONTROL
  static constexpr const char* name = "my_norm";
  static constexpr CastRule rule = CastRule::float32;
#endif
};
using Policy = Autocast<float16>::with<my_norm, CastRule::lower_precision>;
compute_type_t<Policy, op::exp, float> x;
