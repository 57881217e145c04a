// error: custom_fwd: the arguments have different floating types and the op does not say what to cast them to.
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
template <class Inputs>
struct Product {
  using cast_inputs = Inputs;
  static auto forward(auto, auto a, auto b) { return convert<float>(a) * convert<float>(b); }
};
struct product {
  static auto forward(auto, auto a, auto b) { return convert<float>(a) * convert<float>(b); }
};
#ifdef CONTROL
float f(float16 x) { return custom_fwd<Policy, Product<float>>(x, 2.f).first + custom_fwd<Policy, Product<void>>(x, 2.f).first; }
#else
float f(float16 x) { return custom_fwd<Policy, product>(x, 2.f).first; }
#endif
