// error: custom_fwd: Op::forward(Context<P>, args...) must take the context first and then these arguments
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
struct twice {
  template <class P>
  static float forward(Context<P>, float x) { return x + x; }
};
auto y = custom_fwd<Policy, twice>(1.f);
#else
struct twice {
  static float forward(float x) { return x + x; }
};
auto y = custom_fwd<Policy, twice>(1.f);
#endif
