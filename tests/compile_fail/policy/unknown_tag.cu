// error: this type is no op tag. An op tag names an op and carries its default rule.
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
struct my_norm {
  static constexpr const char* name = "my_norm";
  static constexpr CastRule rule = CastRule::float32;
};
using T = compute_type_t<Policy, my_norm, float>;
T x;
#else
struct my_norm {};
using T = compute_type_t<Policy, my_norm, float>;
T x;
#endif
