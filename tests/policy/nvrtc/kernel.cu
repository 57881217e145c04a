// Compiled by NVRTC: policies, types of calls, autocast, custom ops, views. No header of the standard library is there.
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/view.hpp>

using namespace mezzo;
using Policy = Autocast<float16>;

static_assert(stdlib::is_same_v<compute_type_t<Policy, op::matmul, float, float>, float16>);
static_assert(stdlib::is_same_v<argument_type_t<Policy, op::softmax, float16>, float16>);
static_assert(stdlib::is_same_v<result_type_t<Policy, op::softmax, float16>, float>);
static_assert(stdlib::is_same_v<compute_type_t<Policy::disabled, op::exp, float16>, float16>);
static_assert(stdlib::is_same_v<compute_type_t<Policy::with<op::exp, CastRule::lower_precision>, op::exp, float>, float16>);

struct my_norm {
  static constexpr const char* name = "my_norm";
  static constexpr CastRule rule = CastRule::float32;
};
struct square {
  using cast_inputs = float;
  template <class P>
  __device__ static auto forward(Context<P>, float x) {
    return saved(x * x, x);
  }
  template <class P>
  __device__ static auto backward(const Context<P, float>& context, float dy) {
    const auto& [x] = context;
    return 2.f * x * dy;
  }
};

extern "C" __global__ void kernel(ConvertingView<float, const float16> x, ConvertingView<float, float16> y) {
  const auto i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= x.size()) return;
  const float normed = autocast<Policy, my_norm>([](float v) { return v * 2.f; }, x[i]);
  const auto [squared, context] = custom_fwd<Policy, square>(convert<float16>(normed));
  y[i] = squared + custom_bwd<square>(context, 1.f);
}
