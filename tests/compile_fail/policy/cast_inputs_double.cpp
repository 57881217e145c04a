// error: custom_fwd: cast_inputs must be float, float16 or bfloat16
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
template <class Inputs>
struct Twice {
  using cast_inputs = Inputs;
  static auto forward(auto, auto x) { return x + x; }
};
#ifdef CONTROL
auto y = custom_fwd<Policy, Twice<float>>(1.f);
#else
auto y = custom_fwd<Policy, Twice<double>>(1.f);
#endif
