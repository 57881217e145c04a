// error: custom_bwd: Op::backward(const Context<P, Kept...>&, grads...) must take the context of its own forward
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
template <class Backward>
struct Twice {
  template <class P>
  static auto forward(Context<P>, float x) { return saved(x + x, x); }
  static float backward(const Context<Backward, float>&, float dy) { return 2.f * dy; }
};
template <class Op>
float f() { return custom_bwd<Op>(custom_fwd<Policy, Op>(1.f).second, 1.f); }
#ifdef CONTROL
template float f<Twice<Policy>>();
#else
template float f<Twice<Autocast<bfloat16>>>();
#endif
