// y = x * x + 1 over data in LOW, computed in float. Compiled as host code and as a kernel.
#include "variant.hpp"

ENTRY void run(const LOW* x, LOW* y, std::size_t n) {
#ifdef HAND
  EACH(i, n) {
    const float value = to_float(x[i]);
    narrow(value * value + 1.f, y[i]);
  }
#else
  const auto in = argument_view<Policy, op::exp>(Data<const LOW>{x, n});
  const auto out = result_view<Policy, op::exp, LOW>(Data<LOW>{y, n});
  EACH(i, in.size()) {
    out[i] = autocast<Policy, op::exp>([](float value) { return value * value + ONE; }, in[i]);
  }
#endif
}
