// error: this type is no op tag
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
struct my_norm {
  static constexpr const char* name = "my_norm";
  static constexpr CastRule rule = CastRule::float32;
};
result_type_t<Policy, my_norm, float> x;
#else
struct my_norm {
  static constexpr const char* name = "my_norm";
  static constexpr int rule = 1;
};
result_type_t<Policy, my_norm, float> x;
#endif
