// error: the first template argument must be a policy
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
struct Base {
  using low_type = float16;
  static constexpr bool is_enabled = true;
};
#ifdef CONTROL
struct Mine : Base {
  using disabled = Mine;
  using enabled = Mine;
  template <class Op>
  static constexpr CastRule rule = CastRule::float32;
};
result_type_t<Mine, op::exp, float> x;
#else
struct Mine : Base {
  using disabled = Mine;
  using enabled = Mine;
};
result_type_t<Mine, op::exp, float> x;
#endif
