// What all scalers share: scaling, unscaling, the order of calls, and whose overflow skips whose step.
#include <mezzo/loss_scale/loss_scaler.hpp>

#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/loss_scale/none.hpp>
#include <mezzo/loss_scale/static.hpp>
#include <mezzo/optim/clip_grad_norm.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>

#include "executor/counting.hpp"
#include "loss_scale/support.hpp"
#include "support/executors.hpp"
#include "support/message.hpp"

// Named: nvcc loses types of an unnamed namespace that is nested, as the macros of doctest nest one.
namespace loss_scaler_test {

using mezzo::bfloat16;
using mezzo::convert;
using mezzo::DynamicLossScaler;
using mezzo::float16;
using mezzo::LossScaleConfig;
using mezzo::NoLossScaler;
using mezzo::StateError;
using mezzo::StaticLossScaler;
using mezzo::test::bits_of;
using mezzo::test::Buffer;
using mezzo::test::RecordingOptimizer;
using Optimizer = mezzo::MasterOptimizer<mezzo::Sgd, float16>;
constexpr mezzo::Sgd::Options plain{.lr = .5f};
constexpr LossScaleConfig quick{.init_scale = 1024.f, .growth_interval = 4};

const float infinity = mezzo::element_limits<float>::infinity(), nan = mezzo::element_limits<float>::quiet_nan();

// -- scale --------------------------------------------------------------------------------------------------------------------

template <class T, class E>
void check_scale(const E& executor) {
  CAPTURE(mezzo::element_traits<T>::name);
  const std::vector<float> loss_gradients{1.f, -.75f, 0.f, -0.f, 1.f / 3.f, 3e-6f, 100.f, infinity, nan};
  const Buffer<float> in(executor, loss_gradients, 3);
  const Buffer<T> out(executor, std::vector<T>(loss_gradients.size()), 1);
  StaticLossScaler<768.f> scaler(executor);  // no power of two: the product rounds in float, then in T
  scaler.scale(in.span(), out.span());
  const auto got = out.read();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const volatile float product = loss_gradients[i] * 768.f;
    const T expected = convert<T>(static_cast<float>(product));
    CAPTURE(i);
    if (mezzo::is_nan(expected)) {
      CHECK(mezzo::is_nan(got[i]));
    } else {
      CHECK(mezzo::to_bits(got[i]) == mezzo::to_bits(expected));
    }
  }
}

TEST_CASE_TEMPLATE("scale_multiplies_in_float_and_rounds_to_any_type", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_scale<float>(executor);
  check_scale<float16>(executor);
  check_scale<bfloat16>(executor);
  check_scale<mezzo::float8_e5m2>(executor);
  check_scale<mezzo::float8_e4m3>(executor);
  check_scale<double>(executor);
}

TEST_CASE_TEMPLATE("scale_works_in_place_and_on_nothing", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  const Buffer<float> loss(executor, std::vector{2.5f});
  scaler.scale(loss.span(), loss.span());
  CHECK(loss.read()[0] == 2560.f);
  scaler.scale(mezzo::Span<float>(), mezzo::Span<float>());
  scaler.scale(mezzo::Span<const float>(), mezzo::Span<float16>());
}

// A loss of 1 times 65,536 is beyond float16: kept in float it is exact, stored in float16 it is an infinity, which the
// backward pass hands on and the check finds.
TEST_CASE_TEMPLATE("a_scaled_loss_beyond_float16_is_infinite_there_and_exact_in_float", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<> scaler(executor);
  const Buffer<float> loss(executor, std::vector{1.f}), wide(executor, 1);
  const Buffer<float16> narrow(executor, 1);
  scaler.scale(loss.span(), wide.span());
  scaler.scale(loss.span(), narrow.span());
  CHECK(wide.read()[0] == 65536.f);
  CHECK(mezzo::to_bits(narrow.read()[0]) == 0x7c00);
}

TEST_CASE_TEMPLATE("the_logged_loss_is_the_true_one_also_in_an_iteration_that_backs_off", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  const Buffer<float> loss(executor, std::vector{2.5f}), scaled(executor, 1), logged(executor, 1), bad(executor, std::vector{infinity});
  scaler.scale(loss.span(), scaled.span());
  scaler.unscale(bad.span());
  scaler.unscale(scaled.span(), logged.span());  // queued before the update: by the scale of this iteration
  scaler.update();
  CHECK(logged.read()[0] == 2.5f);
  CHECK(scaler.state().scale == 512.f);
}

// -- unscale of spans ------------------------------------------------------------------------------------------------------------

template <class From, class To, class E>
void check_unscale(const E& executor) {
  CAPTURE(mezzo::element_traits<From>::name);
  CAPTURE(mezzo::element_traits<To>::name);
  std::vector<From> gradients;
  for (const float x : {1.f, -.5f, 0.f, -0.f, 3.f, 0x1p-14f, 448.f}) gradients.push_back(convert<From>(x));
  const Buffer<From> in(executor, gradients, 5);
  const Buffer<To> out(executor, std::vector<To>(gradients.size()), 1);
  StaticLossScaler<3.f> scaler(executor);
  scaler.unscale(in.span(), out.span());
  scaler.update();
  CHECK(scaler.state().skipped_steps == 0);
  const To inverse = static_cast<To>(mezzo::inverse_of(3.f));
  const auto got = out.read();
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    const volatile To product = convert<To>(gradients[i]) * inverse;  // rounded once, from the widened value
    CHECK(mezzo::to_bits(got[i]) == mezzo::to_bits(To{product}));
  }
  CHECK((bits_of(in.read()) == bits_of(gradients)));
  // Whatever is not finite is found.
  for (const float bad : {infinity, -infinity, nan}) {
    gradients[2] = convert<From>(bad);
    const Buffer<From> again(executor, gradients);
    scaler.unscale(again.span(), out.span());
    scaler.update();
  }
  CHECK(scaler.state().skipped_steps == 3);
}

TEST_CASE_TEMPLATE("unscale_divides_gradients_of_every_type_and_finds_what_is_not_finite", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_unscale<float16, float>(executor);
  check_unscale<bfloat16, float>(executor);
  check_unscale<float, float>(executor);
  check_unscale<float, double>(executor);
  check_unscale<float16, double>(executor);
  check_unscale<double, double>(executor);
  check_unscale<mezzo::float8_e5m2, float>(executor);
  check_unscale<mezzo::float8_e4m3, float>(executor);
}

TEST_CASE_TEMPLATE("a_float_gradient_unscaled_into_double_keeps_what_float_has_no_room_for", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float> gradients(executor, std::vector{0x1p-149f, 3e38f});
  const Buffer<double> out(executor, 2);
  StaticLossScaler<1024.f> large(executor);
  large.unscale(gradients.span(), out.span());
  CHECK(out.read()[0] == 0x1p-159);
  StaticLossScaler<.25f> small(executor);
  small.unscale(gradients.span(), out.span());
  CHECK(out.read()[1] == 4. * static_cast<double>(3e38f));
  small.update();
  CHECK(small.state().skipped_steps == 0);
}

TEST_CASE_TEMPLATE("a_half_gradient_below_halfs_range_survives_unscaling_into_float", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<> scaler(executor);
  const Buffer<float16> gradients(executor, std::vector{convert<float16>(0x1p-10f)});
  const Buffer<float> out(executor, 1);
  scaler.unscale(gradients.span(), out.span());
  CHECK(out.read()[0] == 0x1p-26f);
}

TEST_CASE_TEMPLATE("unscale_in_place_divides_each_span_once", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  for (const std::size_t size : {0U, 1U, 7U, 1000U}) {
    const Buffer<float> narrow(executor, std::vector<float>(size, 2048.f), size % 8);
    const Buffer<double> wide(executor, std::vector<double>(size, 512.), size % 8);
    scaler.unscale(narrow.span());
    scaler.unscale(wide.span());
    CHECK(narrow.read() == std::vector<float>(size, 2.f));
    CHECK(wide.read() == std::vector<double>(size, .5));
  }
  scaler.update();
  CHECK(scaler.state().applied_steps == 1);
}

TEST_CASE_TEMPLATE("an_empty_gradient_list_is_a_clean_step", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  scaler.unscale(mezzo::Span<float>());
  scaler.update();
  CHECK(scaler.state().applied_steps == 1);
  CHECK(scaler.state().growth_tracker == 1);
}

TEST_CASE("spans_of_different_sizes_are_refused_and_nothing_is_queued") {
  counting::Ledger ledger;
  DynamicLossScaler<> scaler(counting::Executor{&ledger});
  std::vector<float> two{1.f, 2.f}, three{1.f, 2.f, 3.f};
  const int work = ledger.work();
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.scale(two, three)) == "scale: out must have as many elements as in (2), got 3");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.unscale(two, three)) == "unscale: out must have as many elements as grads (2), got 3");
  CHECK(ledger.work() == work);
  CHECK(MEZZO_REFUSAL(StateError, scaler.update()).starts_with("update: no step or unscale since the last update"));  // it saw nothing
}

TEST_CASE("spans_that_no_kernel_could_use_are_refused_and_nothing_is_queued") {
  counting::Ledger ledger;
  DynamicLossScaler<> scaler(counting::Executor{&ledger});
  std::vector<float> values(8, 1.f);
  const mezzo::Span<float> all(values.data(), 8), nothing(static_cast<float*>(nullptr), 8);
  const mezzo::Span<float> crooked(reinterpret_cast<float*>(reinterpret_cast<char*>(values.data()) + 1), 4);
  const int work = ledger.work();
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.scale(nothing, all)) == "scale: in is null with 8 elements");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.unscale(all, nothing)) == "unscale: out is null with 8 elements");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.unscale(nothing)) == "unscale: grads is null with 8 elements");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.unscale(crooked)).starts_with("unscale: grads must be aligned to 4 bytes, got address 0x"));
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.scale(all.first(5), all.last(5))).starts_with("scale: in and out must be the same memory or must not overlap, got 0x"));
  CHECK_NOTHROW(scaler.scale(all.first(4), all.last(4)));
  const int launched = ledger.work();
  CHECK(launched == work + 1);
  ledger.refuse = true;
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.scale(all, all)).starts_with("scale: in must be memory of the executor's device, got address 0x"));
  CHECK(ledger.work() == launched);
  CHECK(values[0] == 1.f);
}

// -- the order of calls, on optimizers that only write down ----------------------------------------------------------------------

TEST_CASE("an_iteration_asks_the_optimizer_for_one_check_and_one_update") {
  DynamicLossScaler<> scaler(mezzo::HostExecutor{});
  RecordingOptimizer optimizer{1};
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "check update ");
  optimizer.calls.clear();
  scaler.unscale(optimizer);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "check+norm+divide update ");
  optimizer.calls.clear();
  mezzo::clip_grad_norm(scaler, optimizer, 1.f);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "check+norm+clip update ");
  optimizer.calls.clear();
  scaler.unscale(optimizer);
  mezzo::clip_grad_norm(scaler, optimizer, 1.f);
  mezzo::clip_grad_norm(scaler, optimizer, 2.f);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "check+norm+divide clip clip update ");
  optimizer.calls.clear();
  mezzo::clip_grad_norm(scaler, optimizer, 1.f);
  scaler.unscale(optimizer);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "check+norm+clip check+norm+divide+clip update ");
}

TEST_CASE("without_checks_a_step_is_prepared_and_applied") {
  NoLossScaler scaler(mezzo::HostExecutor{});
  RecordingOptimizer optimizer{1};
  scaler.unscale(optimizer);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "prepare update ");
  optimizer.calls.clear();
  mezzo::clip_grad_norm(scaler, optimizer, 1.f);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "check+norm+clip(no flag) update ");
}

template <class Scaler>
void check_wrong_orders() {
  Scaler scaler(mezzo::HostExecutor{});
  RecordingOptimizer a{1}, b{2};
  const auto silent = [&](const std::string& message, auto&& call) {
    const std::string before_a = a.calls, before_b = b.calls;
    CHECK(mezzo::test::refusal<StateError>(__FILE__, call) == message);
    CHECK(a.calls == before_a);
    CHECK(b.calls == before_b);
  };
  silent("update: no step or unscale since the last update; where your own kernels check gradients, call assume_checked first", [&] { scaler.update(); });
  scaler.unscale(a);
  silent("unscale: called twice on one optimizer since the last update", [&] { scaler.unscale(a); });
  scaler.step(a);
  silent("unscale: called after step; call it before, or call update first", [&] { scaler.unscale(a); });
  silent("step: called twice on one optimizer; call update between two steps", [&] { scaler.step(a); });
  silent("step: called twice on one optimizer; call update between two steps", [&] { scaler.step(b, a); });
  RecordingOptimizer c{3};
  silent("step: called twice on one optimizer; call update between two steps", [&] { scaler.step(b, c, a); });
  silent("clip_grad_norm: called after step; call it before, or call update first", [&] { mezzo::clip_grad_norm(scaler, a, 1.f); });
  scaler.step(b);  // the refused joint step left it free
  scaler.update();
  silent("update: no step or unscale since the last update; where your own kernels check gradients, call assume_checked first", [&] { scaler.update(); });
  silent("step: one optimizer is named twice", [&] { scaler.step(a, a); });
  scaler.step(a);
  scaler.update();
}

TEST_CASE("wrong_orders_of_calls_are_refused_with_the_users_line_before_anything_is_queued") {
  check_wrong_orders<DynamicLossScaler<>>();
  check_wrong_orders<StaticLossScaler<128.f>>();
  check_wrong_orders<NoLossScaler>();
  check_wrong_orders<NoLossScaler::with<mezzo::Check::skip_nonfinite>>();
}

TEST_CASE("a_clip_norm_that_is_not_positive_and_finite_is_refused") {
  DynamicLossScaler<> scaler(mezzo::HostExecutor{});
  RecordingOptimizer optimizer{1};
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, mezzo::clip_grad_norm(scaler, optimizer, 0.f)) == "clip_grad_norm: max_norm must be positive and finite, got 0");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, mezzo::clip_grad_norm(scaler, optimizer, -1.f)) == "clip_grad_norm: max_norm must be positive and finite, got -1");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, mezzo::clip_grad_norm(scaler, optimizer, infinity)) == "clip_grad_norm: max_norm must be positive and finite, got inf");
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, mezzo::clip_grad_norm(scaler, optimizer, nan)) == "clip_grad_norm: max_norm must be positive and finite, got nan");
  CHECK(optimizer.calls.empty());
}

TEST_CASE("thirty_one_optimizers_step_between_two_updates_and_one_more_is_refused") {
  DynamicLossScaler<> scaler(mezzo::HostExecutor{});
  std::deque<RecordingOptimizer> optimizers;
  for (std::uint64_t i = 1; i <= 32; ++i) optimizers.push_back({i});
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 31; ++i) scaler.step(optimizers[i]);
    CHECK(MEZZO_REFUSAL(StateError, scaler.step(optimizers[31])) == "step: at most 31 optimizers between two updates");
    scaler.update();
  }
  CHECK(optimizers[31].calls.empty());
  CHECK(optimizers[30].calls == "check update check update check update ");
}

TEST_CASE("a_moved_from_scaler_refuses_every_call") {
  DynamicLossScaler<> scaler(mezzo::HostExecutor{});
  RecordingOptimizer optimizer{1};
  std::vector<float> values{1.f};
  DynamicLossScaler<> taken(std::move(scaler));
  const std::string gone = "LossScaler: used after it was moved from";
  CHECK(MEZZO_REFUSAL(StateError, scaler.scale(values, values)) == gone);  // NOLINT: use after move is what this is about
  CHECK(MEZZO_REFUSAL(StateError, scaler.unscale(values)) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.unscale(optimizer)) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.step(optimizer)) == gone);
  CHECK(MEZZO_REFUSAL(StateError, mezzo::clip_grad_norm(scaler, optimizer, 1.f)) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.device_view()) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.assume_checked()) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.rebind(mezzo::HostExecutor{})) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.update()) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.reset()) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.state()) == gone);
  CHECK(MEZZO_REFUSAL(StateError, scaler.load_state({.scale = 4.f})) == gone);
  CHECK(optimizer.calls.empty());
  scaler = std::move(taken);
  CHECK(scaler.state().scale == 65536.f);
}

TEST_CASE("moves_keep_state_stage_and_memory") {
  counting::Ledger ledger;
  const counting::Executor executor{&ledger};
  {
    DynamicLossScaler<quick> a(executor), b(executor);
    RecordingOptimizer optimizer{1};
    mezzo::test::iterate(executor, a, true);
    a.step(optimizer);
    b = std::move(a);
    CHECK(ledger.live == 1);
    CHECK(MEZZO_REFUSAL(StateError, b.step(optimizer)) == "step: called twice on one optimizer; call update between two steps");
    b.update();
    CHECK(b.state().scale == 512.f);
    CHECK(b.state().applied_steps == 1);
    DynamicLossScaler<quick>& same = b;
    b = std::move(same);
    CHECK(b.state().scale == 512.f);
    CHECK(ledger.live == 1);
    mezzo::test::iterate(executor, b, true);
    CHECK(b.state().scale == 256.f);
  }
  CHECK(ledger.live == 0);
}

TEST_CASE("the_optimizer_may_move_or_die_between_two_updates") {
  const mezzo::HostExecutor executor;
  DynamicLossScaler<quick> scaler(executor);
  std::vector<float> w{1.f}, g{infinity};
  {
    Optimizer optimizer(executor, {{w, g}}, plain);
    scaler.unscale(optimizer);
    Optimizer moved(std::move(optimizer));
    scaler.step(moved);
    CHECK(w[0] == 1.f);
  }
  scaler.update();
  CHECK(scaler.state().scale == 512.f);
}

TEST_CASE("reset_after_a_failure_lets_a_whole_iteration_follow") {
  DynamicLossScaler<quick> scaler(mezzo::HostExecutor{});
  RecordingOptimizer optimizer{1};
  scaler.load_state({.scale = 32.f});
  scaler.unscale(optimizer);
  scaler.reset();
  optimizer.calls.clear();
  scaler.unscale(optimizer);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.calls == "check+norm+divide update ");
  CHECK(scaler.state().scale == 32.f);
}

// -- whose overflow skips whose step -----------------------------------------------------------------------------------------------

/// A parameter of one float weight with its optimizer.
template <class E>
struct Model {
  Buffer<float> weight, gradient;
  Optimizer optimizer;
  explicit Model(const E& executor) : weight(executor, std::vector{1.f}), gradient(executor, std::vector{0.f}), optimizer(executor, {{weight.span(), gradient.span()}}, plain) {}
  void set(float value) { gradient.write({value}); }
  float value() const { return weight.read()[0]; }
};

TEST_CASE_TEMPLATE("separate_steps_decide_each_for_itself_and_the_scale_sees_both", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  Model<E> a(executor), b(executor);
  a.set(infinity);
  b.set(1024.f);
  scaler.step(a.optimizer);
  scaler.step(b.optimizer);
  scaler.update();
  CHECK(a.value() == 1.f);
  CHECK(b.value() == .5f);
  CHECK(a.optimizer.state().skipped_steps == 1);
  CHECK(b.optimizer.state().applied_steps == 1);
  CHECK(scaler.state().scale == 512.f);
  CHECK(scaler.state().skipped_steps == 1);
}

TEST_CASE_TEMPLATE("a_joint_step_is_one_decision", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const bool first : {false, true}) {
    DynamicLossScaler<quick> scaler(executor);
    Model<E> a(executor), b(executor), c(executor);
    (first ? a : b).set(nan);
    (first ? b : a).set(1024.f);
    c.set(1024.f);
    scaler.step(a.optimizer, b.optimizer);
    scaler.step(c.optimizer);
    scaler.update();
    CHECK(a.value() == 1.f);
    CHECK(b.value() == 1.f);
    CHECK(c.value() == .5f);
    // The flag is gone with the update.
    a.set(512.f);
    b.set(512.f);
    scaler.step(a.optimizer, b.optimizer);
    scaler.update();
    CHECK(a.value() == .5f);
    CHECK(b.value() == .5f);
    CHECK(scaler.state().applied_steps == 1);
  }
}

TEST_CASE_TEMPLATE("any_number_of_optimizers_step_jointly", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  Model<E> a(executor), b(executor), c(executor), d(executor);
  c.set(-infinity);
  scaler.unscale(b.optimizer);
  scaler.step(a.optimizer, b.optimizer, c.optimizer, d.optimizer);
  scaler.update();
  for (Model<E>* model : {&a, &b, &c, &d}) CHECK(model->optimizer.state().skipped_steps == 1);
}

TEST_CASE_TEMPLATE("an_overflow_that_the_users_kernel_reports_skips_every_step", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  Model<E> a(executor), b(executor);
  a.set(1024.f);
  b.set(1024.f);
  run_once(executor, mezzo::test::ReportOverflow{scaler.device_view()});
  scaler.step(a.optimizer);
  scaler.step(b.optimizer);
  scaler.update();
  CHECK(a.value() == 1.f);
  CHECK(b.value() == 1.f);
  CHECK(scaler.state().scale == 512.f);
}

/// A moving average of the user's that rests when the step does.
struct Average {
  mezzo::LossScaleView view;
  const float* weight;
  float* average;
  MEZZO_HOST_DEVICE void operator()() const {
    if (!view.overflowed()) *average = mezzo::exact::add(*average, *weight);
  }
};

TEST_CASE_TEMPLATE("a_kernel_of_the_users_between_step_and_update_can_rest_when_the_step_does", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  Model<E> model(executor);
  const Buffer<float> average(executor, 1);
  const auto iterate = [&](float gradient) {
    model.set(gradient);
    scaler.step(model.optimizer);
    run_once(executor, Average{scaler.device_view(), model.weight.data(), average.data()});
    scaler.update();
    return average.read()[0];
  };
  CHECK(iterate(infinity) == 0.f);
  CHECK(iterate(0.f) == 1.f);
  CHECK(iterate(nan) == 1.f);
  CHECK(iterate(0.f) == 2.f);
  CHECK_FALSE(mezzo::LossScaleView{}.overflowed());
}

TEST_CASE_TEMPLATE("a_rebound_scaler_goes_on_from_its_state", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  mezzo::test::iterate(executor, scaler, true);
  scaler.rebind(mezzo::test::make_executor<E>());
  mezzo::test::iterate(executor, scaler, true);
  CHECK(scaler.state().scale == 256.f);
  counting::Ledger ledger;
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, scaler.rebind(counting::Executor{&ledger})) == "rebind: the executor must be of the kind the scaler was built on");
}

TEST_CASE_TEMPLATE("an_overflow_in_the_first_of_four_micro_batches_skips_the_whole_step", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  Model<E> model(executor);
  Buffer<float> micro(executor, 1);
  for (int batch = 0; batch < 4; ++batch) {
    micro.write({batch == 0 ? infinity : 256.f});
    scaler.unscale(micro.span());
  }
  model.set(1024.f);  // what the user accumulated looks clean
  scaler.step(model.optimizer);
  scaler.update();
  CHECK(model.value() == 1.f);
  CHECK(scaler.state().skipped_steps == 1);
  // Four clean ones count as one step.
  for (int batch = 0; batch < 4; ++batch) {
    micro.write({128.f});
    scaler.unscale(micro.span());
  }
  model.set(512.f);
  scaler.step(model.optimizer);
  scaler.update();
  CHECK(model.value() == .5f);
  CHECK(scaler.state().applied_steps == 1);
}

TEST_CASE_TEMPLATE("two_scalers_interleaved_on_one_executor_are_independent", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> a(executor), b(executor);
  Model<E> x(executor), y(executor);
  x.set(infinity);
  y.set(1024.f);
  a.unscale(x.optimizer);
  b.unscale(y.optimizer);
  b.step(y.optimizer);
  a.step(x.optimizer);
  a.update();
  CHECK(b.state() == mezzo::LossScaleState{.scale = 1024.f});
  b.update();
  CHECK(x.value() == 1.f);
  CHECK(y.value() == .5f);
  CHECK(a.state().scale == 512.f);
  CHECK(b.state().scale == 1024.f);
  CHECK(b.state().applied_steps == 1);
}

TEST_CASE("two_threads_with_two_scalers_are_independent") {
  const auto train = [](int period, mezzo::LossScaleState& out, float& weight) {
    const mezzo::HostExecutor executor;
    DynamicLossScaler<quick> scaler(executor);
    Model<mezzo::HostExecutor> model(executor);
    for (int i = 0; i < 500; ++i) {
      model.set(i % period == 0 ? infinity : 0x1p-10f);
      scaler.step(model.optimizer);
      scaler.update();
    }
    out = scaler.state();
    weight = model.value();
  };
  mezzo::LossScaleState alone[2], together[2];
  float weight_alone[2], weight_together[2];
  train(7, alone[0], weight_alone[0]);
  train(11, alone[1], weight_alone[1]);
  std::thread first(train, 7, std::ref(together[0]), std::ref(weight_together[0]));
  std::thread second(train, 11, std::ref(together[1]), std::ref(weight_together[1]));
  first.join();
  second.join();
  for (int i = 0; i < 2; ++i) {
    CHECK(together[i] == alone[i]);
    CHECK(weight_together[i] == weight_alone[i]);
  }
  CHECK(alone[0] != alone[1]);
}

TEST_CASE_TEMPLATE("reading_the_state_without_waiting_gives_what_was_queued_before", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  DynamicLossScaler<quick> scaler(executor);
  mezzo::LossScaleState first, second;
  scaler.state_async(&first);
  mezzo::test::iterate(executor, scaler, true);
  scaler.state_async(&second);
  executor.wait();
  CHECK(first.scale == 1024.f);
  CHECK(second.scale == 512.f);
}

// -- the same members on all scalers -----------------------------------------------------------------------------------------------

template <class Scaler, class E>
void train_with(const E& executor) {
  Scaler scaler(executor);
  Model<E> model(executor);
  const float scale = scaler.state().scale;
  // Scaling without an explicit unscale: the step divides by itself.
  model.set(scale);
  scaler.step(model.optimizer);
  scaler.update();
  CHECK(model.value() == .5f);
  model.set(scale);
  scaler.unscale(model.optimizer);
  CHECK(model.gradient.read()[0] == 1.f);
  scaler.step(model.optimizer);
  scaler.update();
  CHECK(model.value() == 0.f);
  scaler.load_state(scaler.state());
  scaler.reset();
}

TEST_CASE_TEMPLATE("every_scaler_trains_the_same_with_and_without_an_explicit_unscale", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  train_with<DynamicLossScaler<>>(executor);
  train_with<StaticLossScaler<128.f>>(executor);
  train_with<NoLossScaler>(executor);
  train_with<NoLossScaler::with<mezzo::Check::skip_nonfinite>>(executor);
}

}  // namespace loss_scaler_test
