// error: custom_bwd<Op>(context, grads...): the context must be the one that custom_fwd<Policy, Op> returned
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
struct square {
  template <class P>
  static auto forward(Context<P>, auto x) { return saved(x * x, x); }
  template <class P, class X>
  static auto backward(const Context<P, X>& context, auto dy) {
    const auto& [x] = context;
    return 2.f * x * dy;
  }
};
#ifdef CONTROL
float f() { return custom_bwd<square>(custom_fwd<Policy, square>(1.f).second, 1.f); }
#else
float f() { return custom_bwd<square>(Context<Policy>(), 1.f); }
#endif
