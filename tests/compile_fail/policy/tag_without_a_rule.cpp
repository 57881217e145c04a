// error: write one: struct my_op { static constexpr const char* name = "my_op"; static constexpr CastRule rule = CastRule::float32; };
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
struct my_norm {
  static constexpr const char* name = "my_norm";
  static constexpr CastRule rule = CastRule::float32;
};
const float y = autocast<Policy, my_norm>([](float x) { return x; }, 1.f);
#else
struct my_norm {
  static constexpr const char* name = "my_norm";
};
const float y = autocast<Policy, my_norm>([](float x) { return x; }, 1.f);
#endif
