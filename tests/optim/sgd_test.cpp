#include <mezzo/optim/sgd.hpp>

#include "optim/training_cases.hpp"
#include "support/executors.hpp"
#include "support/message.hpp"

namespace {

using mezzo::bfloat16;
using mezzo::float16;
using mezzo::Float32Master;
using mezzo::NoMaster;
using mezzo::Sgd;
using namespace optim_test;

const std::vector<Sgd::Options> configurations{
    {.lr = .125f},
    {.lr = .1f, .weight_decay = .01f},
    {.lr = .05f, .momentum = .9f},
    {.lr = .05f, .momentum = .9f, .nesterov = true},
    {.lr = .05f, .momentum = .9f, .dampening = .3f},
    {.lr = .01f, .momentum = .99f, .weight_decay = 5e-4f},
    {.lr = .01f, .momentum = .99f, .weight_decay = .1f, .nesterov = true},
    {.lr = .05f, .momentum = .5f, .dampening = .9f, .weight_decay = .01f},
    {.lr = 1e-6f, .momentum = .9f},
    {.lr = .05f, .momentum = .9f, .dampening = -.5f},
    {.lr = .5f, .momentum = .1f, .weight_decay = .3f, .nesterov = true},
    {.lr = 0.f, .momentum = .9f, .weight_decay = .1f},
};

/// Runs every configuration. Every element is held to its own running bound; `most_ulps` is what that came to at most.
template <class Low, class Storage, class Moment, class E>
void check_all(const E& executor, double most_ulps) {
  CAPTURE(mezzo::element_traits<Low>::name);
  CAPTURE(Storage::keeps_master);
  double worst_bound = 0, worst_error = 0;
  for (std::size_t c = 0; c < configurations.size(); ++c) {
    CAPTURE(c);
    const Accuracy accuracy = check_against_reference<Sgd, SgdReference, Low, Storage, Moment>(executor, configurations[c]);
    worst_bound = std::max(worst_bound, accuracy.worst_bound);
    worst_error = std::max(worst_error, accuracy.worst_error);
  }
  MESSAGE(std::string(mezzo::element_traits<Low>::name) << ": largest error after 50 steps: " << worst_error << " ulp; bound: " << worst_bound << " ulp");
  CHECK(worst_bound <= most_ulps);
}

// With masters a step rounds the weight once, half an ulp. The buffer adds its own roundings, which a momentum of .99 sums up
// over all fifty steps: 200 ulp.
TEST_CASE_TEMPLATE("fifty_steps_with_masters_stay_within_200_ulp_of_float64", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_all<float16, Float32Master, float>(executor, 200);
  check_all<bfloat16, Float32Master, float>(executor, 200);
  check_all<float, Float32Master, float>(executor, 200);
}

// Without masters every step rounds the weight to 11 or 8 bits: an ulp of those is 2^13 or 2^16 float32 ulps.
TEST_CASE_TEMPLATE("fifty_steps_without_masters_stay_within_130_ulp_of_the_model", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_all<float16, NoMaster, float>(executor, 130 * 0x1p13);
  check_all<bfloat16, NoMaster, float>(executor, 130 * 0x1p16);
}

TEST_CASE_TEMPLATE("moments_may_be_kept_in_16_bits", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_all<float16, Float32Master, float16>(executor, 60 * 0x1p13);
  check_all<float16, Float32Master, bfloat16>(executor, 60 * 0x1p16);
}

// -- single steps by hand --------------------------------------------------------------------------------------------------------

/// One weight trained on float32 gradients without a scaler.
template <class E>
struct One {
  Buffer<float> weight, gradient;
  mezzo::MasterOptimizer<Sgd, float> optimizer;
  One(const E& executor, float start, const Sgd::Options& options)
      : weight(executor, std::vector{start}), gradient(executor, 1), optimizer(executor, {{weight.span(), gradient.span()}}, options) {}
  float step(float g) {
    gradient.write({g});
    optimizer.step();
    return weight.read()[0];
  }
};

TEST_CASE_TEMPLATE("the_first_step_takes_the_gradient_into_the_buffer_undampened", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  One<E> one(executor, 4.f, {.lr = 1.f, .momentum = .5f, .dampening = .75f});
  CHECK(one.step(1.f) == 3.f);        // buffer 1
  CHECK(one.step(1.f) == 2.25f);      // buffer .5 + .25
  CHECK(download(executor, one.optimizer.moment(0, 0))[0] == .75f);
}

TEST_CASE_TEMPLATE("nesterov_looks_ahead_and_decay_pulls_to_zero", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  One<E> nesterov(executor, 4.f, {.lr = 1.f, .momentum = .5f, .nesterov = true});
  CHECK(nesterov.step(1.f) == 2.5f);  // 1 + .5 * 1
  One<E> decayed(executor, 4.f, {.lr = .5f, .weight_decay = .25f});
  CHECK(decayed.step(0.f) == 3.5f);
}

TEST_CASE_TEMPLATE("a_learning_rate_of_0_changes_nothing", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const float start : {1.f, -3e-39f, 0.f, -0.f, 1e30f}) {
    One<E> one(executor, start, {.lr = 0.f, .momentum = .9f, .weight_decay = .1f});
    for (const float g : {1.f, -2.f, -0.f, 3e38f, 3e38f}) CHECK(mezzo::to_bits(one.step(g)) == mezzo::to_bits(start));
  }
}

TEST_CASE_TEMPLATE("zero_gradients_without_decay_keep_every_bit", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const float start : {1.f, 0.f, -0.f, 0x1p-149f, -1e38f}) {
    for (const bool nesterov : {false, true}) {
      One<E> one(executor, start, {.lr = .5f, .momentum = .9f, .nesterov = nesterov});
      for (int i = 0; i < 3; ++i) CHECK(mezzo::to_bits(one.step(0.f)) == mezzo::to_bits(start));
    }
  }
}

TEST_CASE("options_out_of_range_are_refused_by_name") {
  const mezzo::HostExecutor executor;
  const float nan = mezzo::element_limits<float>::quiet_nan(), infinity = mezzo::element_limits<float>::infinity();
  std::vector<float> w{1.f}, g{1.f};
  const auto refused = [&](const Sgd::Options& options) {
    return MEZZO_REFUSAL(mezzo::InvalidArgument, mezzo::MasterOptimizer<Sgd, float>(executor, {{w, g}}, options));
  };
  CHECK(refused({.lr = -1.f}) == "Sgd::Options: lr must be finite and not negative, got -1");
  CHECK(refused({.lr = nan}) == "Sgd::Options: lr must be finite and not negative, got nan");
  CHECK(refused({.lr = infinity}) == "Sgd::Options: lr must be finite and not negative, got inf");
  CHECK(refused({.momentum = -.1f}) == "Sgd::Options: momentum must be finite and not negative, got -0.1");
  CHECK(refused({.dampening = infinity}) == "Sgd::Options: dampening must be finite, got inf");
  CHECK(refused({.weight_decay = -2.f}) == "Sgd::Options: weight_decay must be finite and not negative, got -2");
  CHECK(refused({.nesterov = true}) == "Sgd::Options: nesterov needs momentum above 0 and dampening 0, got 0");
  CHECK(refused({.momentum = .9f, .dampening = .1f, .nesterov = true}) == "Sgd::Options: nesterov needs momentum above 0 and dampening 0, got 0.9");
  CHECK(refused({}) == "not refused");
}

static_assert(Sgd::moments == 1 && mezzo::UpdateRule<Sgd>);

}  // namespace
