// error: custom_bwd<Op>(context, grads...): name the op alone.
#include <mezzo/policy/policy.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
struct square {
  template <class P>
  static auto forward(Context<P>, float x) { return saved(x * x, x); }
  template <class P>
  static auto backward(const Context<P, float>& context, float dy) { return 2.f * context.template get<0>() * dy; }
};
float f(float x) {
  const auto [y, context] = custom_fwd<Policy, square>(x);
#ifdef CONTROL
  return custom_bwd<square>(context, y);
#else
  return custom_bwd<Policy, square>(context, y);
#endif
}
