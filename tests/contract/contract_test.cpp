// The names and behaviour that users can rely on, as one program on the host executor.
#include <doctest/doctest.h>

#include <mezzo/mezzo.hpp>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <vector>
using namespace mezzo;
using Policy = Autocast<float16>;
static_assert(std::is_same_v<compute_type_t<Policy, op::matmul, float, float>, float16>);
static_assert(std::is_same_v<argument_type_t<Policy, op::matmul, float>, float16>);
static_assert(std::is_same_v<argument_type_t<Policy, op::matmul, double>, double>);
static_assert(std::is_same_v<compute_type_t<Policy, op::exp, float16>, float>);
static_assert(std::is_same_v<argument_type_t<Policy, op::softmax, float16>, float16>);
static_assert(std::is_same_v<result_type_t<Policy, op::softmax, float16>, float>);
static_assert(std::is_same_v<compute_type_t<Policy, op::addcmul, float16, float>, float>);
static_assert(std::is_same_v<compute_type_t<Policy, op::relu, float16>, float16>);
using Tuned = Policy::with<op::softmax, CastRule::lower_precision>;
static_assert(std::is_same_v<result_type_t<Tuned, op::softmax, float>, float16>);
using Off = Policy::disabled;
static_assert(std::is_same_v<compute_type_t<Off, op::matmul, float, float>, float>);
namespace user { struct my_norm { static constexpr std::string_view name = "my_norm"; static constexpr CastRule rule = CastRule::float32; }; }
static_assert(std::is_same_v<compute_type_t<Policy, user::my_norm, float16>, float>);
constexpr LossScaleConfig config{.init_scale = 1024.f, .growth_factor = 2.f, .backoff_factor = .5f, .growth_interval = 4};
static_assert(std::is_same_v<argument_type_t<Policy, op::addcmul, float16, float>, float>);        // the first type asked about, then the other arguments
template <class P> using Nested = with_t<disabled_t<with_t<P, op::softmax, CastRule::lower_precision>>, op::exp, CastRule::float32>;
static_assert(std::is_same_v<compute_type_t<Nested<Policy>, op::exp, float16>, float16>);         // an override does not switch autocast on
struct scaled_exp {
  using cast_inputs = float;
  template <class P> static auto forward(Context<P>, auto x) { static_assert(std::is_same_v<decltype(x), float> && std::is_same_v<P, Policy::disabled>); const float y = 2.f * x; return saved(y, x); }
  template <class P, class X> static auto backward(const Context<P, X>& context, auto dy) { static_assert(std::is_same_v<P, Policy::disabled>); const auto& [x] = context; return x * dy; }
};
struct as_it_is { static auto forward(auto, auto x) { return x; } };
template <class Scaler> void training() {                   // the members that all scalers share
  HostExecutor executor; Scaler scaler{executor}; const float s = scaler.state().scale;
  std::vector<float16> w(2, float16(1.f)), g(2); std::vector<float> b(1, 1.f), bg(1), dy{.75f, 1.f}; std::vector<float16> half_dy(2);
  using Optimizer = MasterOptimizer<Sgd, float16>;
  Optimizer optimizer{executor, {{w, g}, {.model = b, .gradient = bg, .name = "bias"}}, Sgd::Options{.lr = .5f}};
  scaler.scale(dy, half_dy); CHECK(float(half_dy[0]) == .75f * s);
  g[0] = float16(3.f * s); g[1] = float16(0.f); bg[0] = 4.f * s;   // norm 5
  scaler.unscale(optimizer); CHECK(bg[0] == 4.f); CHECK(float(g[0]) == 3.f * s);
  clip_grad_norm(scaler, optimizer, 2.5f); scaler.step(optimizer); scaler.update();
  CHECK(std::abs(float(w[0]) - .25f) < 1e-3f); CHECK(float(w[1]) == 1.f); CHECK(std::abs(b[0]) < 1e-5f);
  optimizer.zero_grad(); CHECK(float(g[0]) == 0.f); CHECK(bg[0] == 0.f);
  bg[0] = 1.f; optimizer.step(); CHECK(std::abs(b[0] + .5f) < 1e-5f);
  scaler.load_state(scaler.state()); auto view = scaler.device_view(); CHECK(view.scale() * view.inverse_scale() == 1.f);
}
TEST_CASE("the_contract_holds") {
  auto y = autocast<Policy, user::my_norm>([](auto x) { static_assert(std::is_same_v<decltype(x), float>); return x * 2; }, float16(2.f));
  CHECK(float(y) == 4.f);
  HostExecutor executor;
  DynamicLossScaler<config> scaler{executor};
  std::vector<float16> w(5, float16(1.f)), g(5), w2(3, float16(-2.f)), g2(3);
  using Optimizer = MasterOptimizer<AdamW, float16>;
  Optimizer optimizer{executor, {{w, g}, {w2, g2}}, AdamW::Options{.lr = .125f, .weight_decay = 0.f}};
  for (auto& x : g) x = float16(1024.f * .5f);
  for (auto& x : g2) x = float16(1024.f * -.25f);
  scaler.step(optimizer); scaler.update();
  for (auto& x : w) CHECK(std::abs(float(x) - .875f) < 1e-3f);       // first Adam step moves by lr * sign(g)
  for (auto& x : w2) CHECK(std::abs(float(x) + 1.875f) < 2e-3f);
  CHECK(scaler.state().growth_tracker == 1);
  auto before = w;
  g[4] = float16(INFINITY);
  scaler.step(optimizer); scaler.update();
  for (int i = 0; i < 5; ++i) CHECK(float(w[i]) == float(before[i]));
  CHECK(scaler.state().scale == 512.f);
  CHECK(scaler.state().growth_tracker == 0);
  auto [out, context] = custom_fwd<Policy, scaled_exp>(float16(3.f));
  CHECK(out == 6.f); CHECK(custom_bwd<scaled_exp>(context, 2.f) == 6.f);
  static_assert(std::is_same_v<decltype(custom_fwd<Policy::disabled, as_it_is>(1.).first), double>);
  training<DynamicLossScaler<config>>(); training<StaticLossScaler<128.f>>(); training<NoLossScaler>();
}
