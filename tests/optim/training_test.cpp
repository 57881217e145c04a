// Whole runs: the same bits however parameters lie in memory, and what users have met elsewhere.
#include <mezzo/optim/clip_grad_norm.hpp>

#include <numeric>

#include "optim/training_cases.hpp"
#include "support/executors.hpp"
#include "support/message.hpp"

namespace {

using mezzo::AdamW;
using mezzo::bfloat16;
using mezzo::convert;
using mezzo::DynamicLossScaler;
using mezzo::float16;
using mezzo::Float32Master;
using mezzo::HostExecutor;
using mezzo::MasterOptimizer;
using mezzo::NoMaster;
using mezzo::Sgd;
using mezzo::test::bits_of;
using namespace optim_test;

const float infinity = mezzo::element_limits<float>::infinity();

// -- the same bits on every executor and for every layout --------------------------------------------------------------------------

/// Trains 20 steps with an overflow in the seventh and clipping in every fourth; returns every bit, step by step.
template <class Rule, class Low, class Storage, class E>
std::vector<std::vector<std::uint32_t>> history(const E& executor, const std::vector<Shape>& shapes, const typename Rule::Options& options) {
  Training<E, Rule, Low, Storage> training(executor, shapes, options);
  training.optimizer().set_schedule(mezzo::cosine_schedule(18, 3, .1));
  DynamicLossScaler<scale_1024> scaler(executor);
  std::vector<std::vector<std::uint32_t>> all;
  float scale = 1024.f;
  for (std::uint64_t step = 0; step < 20; ++step) {
    training.set_gradients([&](std::size_t i) { return step == 7 && i == 11 ? infinity : true_gradient(i, step) * scale; });
    if (step % 3 == 1) scaler.unscale(training.optimizer());
    if (step % 4 == 3) mezzo::clip_grad_norm(scaler, training.optimizer(), 1.5f);
    scaler.step(training.optimizer());
    scaler.update();
    if (step == 7) scale = 512.f;
    all.push_back(training.bits());
  }
  CHECK(training.optimizer().state().applied_steps == 19);
  CHECK(training.optimizer().state().skipped_steps == 1);
  CHECK((all[7] == all[6]));  // the skipped step
  CHECK((all[8] != all[7]));
  return all;
}

/// The executor under test, spans off alignment, against the host with every span aligned.
template <class Rule, class Low, class Storage, class E>
void check_layouts(const E& executor, const typename Rule::Options& options) {
  CAPTURE(mezzo::element_traits<Low>::name);
  std::vector<Shape> shapes = awkward(), aligned = shapes;
  for (Shape& shape : aligned) shape.offset = 0;
  CHECK((history<Rule, Low, Storage>(executor, shapes, options) == history<Rule, Low, Storage>(HostExecutor{}, aligned, options)));
}

TEST_CASE_TEMPLATE("runs_have_the_bits_of_the_host_wherever_spans_start", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Sgd::Options sgd{.lr = .05f, .momentum = .9f, .weight_decay = .01f, .nesterov = true};
  check_layouts<Sgd, float16, Float32Master>(executor, sgd);
  check_layouts<Sgd, bfloat16, NoMaster>(executor, sgd);
  check_layouts<Sgd, float, Float32Master>(executor, sgd);
  const AdamW::Options adamw{.lr = .01f, .weight_decay = .1f};
  check_layouts<AdamW, bfloat16, Float32Master>(executor, adamw);
  check_layouts<AdamW, float16, NoMaster>(executor, adamw);
}

TEST_CASE_TEMPLATE("long_spans_that_take_several_chunks_have_the_bits_of_the_host", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const std::vector<Shape> shapes{{8193, 1}, {511, 3, false, true}, {20'001, 5}, {0}, {8192, 7, true}};
  const AdamW::Options options{.lr = .01f};
  CHECK((history<AdamW, float16, Float32Master>(executor, shapes, options) == history<AdamW, float16, Float32Master>(HostExecutor{}, shapes, options)));
}

// -- groups -------------------------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a_group_without_decay_moves_as_an_optimizer_without_decay_would", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<Shape> shapes = awkward();
  for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i].group = i % 2;
  const Sgd::Options decay{.lr = .1f, .momentum = .9f, .weight_decay = .1f}, none{.lr = .1f, .momentum = .9f};
  Training<E, Sgd, float16> mixed(executor, shapes, decay, none), all_decay(executor, shapes, decay), all_none(executor, shapes, none);
  for (std::uint64_t step = 0; step < 5; ++step) {
    for (auto* training : {&mixed, &all_decay, &all_none}) {
      training->set_gradients([step](std::size_t i) { return true_gradient(i, step); });
      training->optimizer().step();
    }
  }
  const auto got = mixed.masters(), with = all_decay.masters(), without = all_none.masters();
  std::size_t i = 0, differ = 0, told_apart = 0;
  for (const Shape& shape : shapes) {
    for (std::size_t k = 0; k < shape.size; ++k, ++i) {
      differ += mezzo::to_bits(got[i]) != mezzo::to_bits(shape.group == 0 ? with[i] : without[i]);
      told_apart += with[i] != without[i];
    }
  }
  CHECK(differ == 0);
  CHECK(told_apart > 100);
}

// -- settings between the check and the step ------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a_setting_made_between_unscale_and_step_holds_for_that_step", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const auto weight_after = [&](auto&& set) {
    Buffer<float> w(executor, std::vector{0.f}), g(executor, std::vector{1024.f});
    MasterOptimizer<Sgd, float> optimizer(executor, {{w.span(), g.span()}}, Sgd::Options{.lr = 1.f});
    DynamicLossScaler<scale_1024> scaler(executor);
    scaler.unscale(optimizer);
    set(optimizer);
    scaler.step(optimizer);
    scaler.update();
    return w.read()[0];
  };
  CHECK(weight_after([](auto& optimizer) { optimizer.set_learning_rate(.25f); }) == -.25f);
  CHECK(weight_after([](auto& optimizer) { optimizer.set_options(Sgd::Options{.lr = .5f}); }) == -.5f);
  CHECK(weight_after([](auto& optimizer) { optimizer.set_schedule(mezzo::constant_schedule(4)); }) == -.25f);
}

// -- cases of public bug reports --------------------------------------------------------------------------------------------------------

/// Ten constant updates of 1e-3 that the low type cannot see, from 1.
template <class Rule, class Low, class Storage, class E>
float after_ten_small_steps(const E& executor, const typename Rule::Options& options) {
  const Buffer<Low> w(executor, std::vector{convert<Low>(1.f)}), g(executor, std::vector{convert<Low>(1.f)});
  MasterOptimizer<Rule, Low, Storage> optimizer(executor, {{w.span(), g.span()}}, options);
  for (int i = 0; i < 10; ++i) optimizer.step();
  if constexpr (Storage::keeps_master) {
    CHECK(convert<float>(w.read()[0]) == convert<float>(convert<Low>(download(executor, optimizer.master(0))[0])));
    return download(executor, optimizer.master(0))[0];
  } else {
    CHECK(optimizer.master(0).empty());
    return convert<float>(w.read()[0]);
  }
}

TEST_CASE_TEMPLATE("masters_accumulate_what_every_low_type_would_lose", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Sgd::Options sgd{.lr = 1e-3f};
  const AdamW::Options adamw{.lr = 1e-3f, .weight_decay = 0.f};
  // Ten sums just below 1 round by at most 2^-25 each; AdamW's direction is 1 within 8 u.
  const double bound = 10 * (0x1p-25 + 1e-3 * 10 * u32);
  CHECK(std::fabs(wide(after_ten_small_steps<Sgd, float16, Float32Master>(executor, sgd)) - (1. - 10 * wide(1e-3f))) <= bound);
  CHECK(std::fabs(wide(after_ten_small_steps<Sgd, bfloat16, Float32Master>(executor, sgd)) - (1. - 10 * wide(1e-3f))) <= bound);
  CHECK(std::fabs(wide(after_ten_small_steps<AdamW, float16, Float32Master>(executor, adamw)) - (1. - 10 * wide(1e-3f))) <= bound);
  CHECK(std::fabs(wide(after_ten_small_steps<AdamW, bfloat16, Float32Master>(executor, adamw)) - (1. - 10 * wide(1e-3f))) <= bound);
  // An ulp of bfloat16 just below 1 is 2^-8: a step of 1e-3 is less than half of it.
  CHECK(after_ten_small_steps<Sgd, bfloat16, NoMaster>(executor, sgd) == 1.f);
  CHECK(after_ten_small_steps<AdamW, bfloat16, NoMaster>(executor, adamw) == 1.f);
}

TEST_CASE_TEMPLATE("micro_batches_accumulated_in_float32_are_not_lost_to_a_low_model", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<bfloat16> w(executor, std::vector{convert<bfloat16>(4.f)});
  Buffer<float> gradient(executor, std::vector{1.f});
  float sum = 1.f;
  for (int batch = 0; batch < 1024; ++batch) sum += 0x1p-9f;  // bfloat16 would stay at 1
  gradient.write({sum});
  MasterOptimizer<Sgd, bfloat16> optimizer(executor, {{w.span(), gradient.span()}}, Sgd::Options{.lr = 1.f});
  optimizer.step();
  CHECK(download(executor, optimizer.master(0))[0] == 1.f);
}

TEST_CASE_TEMPLATE("an_optimizer_without_gradients_leaves_others_free_to_step", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float> w(executor, std::vector{1.f}), g(executor, std::vector{1024.f});
  MasterOptimizer<Sgd, float> none(executor, {}, Sgd::Options{}), some(executor, {{w.span(), g.span()}}, Sgd::Options{.lr = .5f});
  DynamicLossScaler<scale_1024> scaler(executor);
  scaler.unscale(none);
  scaler.step(none);
  scaler.step(some);
  scaler.update();
  CHECK(w.read()[0] == .5f);
  CHECK(scaler.state().applied_steps == 1);
}

TEST_CASE_TEMPLATE("lists_past_any_launch_limit_update_every_span_also_before_a_trailing_empty_one", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const auto& shapes : {std::vector<Shape>{{4}, {0}}, std::vector<Shape>{{0}, {4}}, std::vector<Shape>{{0}}, std::vector<Shape>(1000, Shape{0}), std::vector<Shape>{}}) {
    Training<E, Sgd, float16> training(executor, shapes, {.lr = 1.f});
    training.set_gradients([](std::size_t) { return 1.f; });
    const auto before = training.masters();
    training.optimizer().step();
    const auto after = training.masters();
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(after[i] == before[i] - 1.f);
    CHECK(training.optimizer().state().applied_steps == 1);
  }
  std::vector<Shape> many(3000, Shape{4, 1});
  many.push_back({0});
  Training<E, Sgd, float16> training(executor, many, {.lr = 1.f});
  training.set_gradients([](std::size_t) { return 1.f; });
  const auto before = training.masters();
  training.optimizer().step();
  const auto after = training.masters();
  std::size_t differ = 0;
  for (std::size_t i = 0; i < after.size(); ++i) differ += after[i] != before[i] - 1.f;
  CHECK(differ == 0);
}

// A norm of n squares, each exact in double before its sum rounds, over a tree no deeper than n: relative n 2^-53, and the root
// halves it.
TEST_CASE_TEMPLATE("the_norm_is_that_of_long_double_within_its_roundings", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<Shape> shapes = awkward();
  shapes.push_back({9000, 3});
  Training<E, Sgd, float16> training(executor, shapes, {.lr = .1f});
  DynamicLossScaler<scale_1024> scaler(executor);
  for (const bool unscaled : {false, true}) {
    training.set_gradients([](std::size_t i) { return true_gradient(i, 1) * 1024.f; });
    long double square = 0;
    for (const float g : training.gradients()) square += static_cast<long double>(g) / 1024 * g / 1024;
    if (unscaled) scaler.unscale(training.optimizer());
    mezzo::clip_grad_norm(scaler, training.optimizer(), 1.f);
    const double norm = training.optimizer().state().gradient_norm;
    const auto n = static_cast<long double>(elements(shapes));
    CHECK(std::fabs(norm - std::sqrt(square)) <= (n / 2 + 1) * 0x1p-53L * std::sqrt(square));
    scaler.step(training.optimizer());
    scaler.update();
  }
}

}  // namespace
