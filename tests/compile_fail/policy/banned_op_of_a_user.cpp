// error: this op is banned under a low-precision policy: its results or gradients do not fit in 16 bits.
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
struct my_loss {
  static constexpr const char* name = "my_loss";
  static constexpr CastRule rule = CastRule::banned;
};
#ifdef CONTROL
result_type_t<Policy::disabled, my_loss, float> x;
#else
result_type_t<Policy, my_loss, float> x;
#endif
