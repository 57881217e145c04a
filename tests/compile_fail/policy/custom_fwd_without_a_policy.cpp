// error: custom_fwd<Policy, Op>: the first template argument must be a policy
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
auto y = custom_fwd<Policy, square>(1.f);
#else
auto y = custom_fwd<float16, square>(1.f);
#endif
