#include <mezzo/optim/adamw.hpp>

#include "optim/training_cases.hpp"
#include "support/executors.hpp"
#include "support/message.hpp"

namespace {

using mezzo::AdamW;
using mezzo::bfloat16;
using mezzo::float16;
using mezzo::Float32Master;
using mezzo::NoMaster;
using namespace optim_test;

const std::vector<AdamW::Options> configurations{
    {.lr = .01f},
    {.lr = .01f, .weight_decay = 0.f},
    {.lr = .1f, .weight_decay = .1f},
    {.lr = .01f, .beta1 = 0.f},
    {.lr = .01f, .beta2 = .5f},
    {.lr = .01f, .beta1 = 0.f, .beta2 = 0.f, .weight_decay = .5f},
    {.lr = .01f, .beta1 = .99f, .beta2 = .999999f},
    {.lr = .01f, .beta1 = .5f, .beta2 = .9f, .epsilon = 1e-3f},
    {.lr = .001f, .epsilon = 1.f},
    {.lr = 1e-6f},
    {.lr = .02f, .beta1 = .95f, .beta2 = .98f, .epsilon = 1e-6f, .weight_decay = .05f},
    {.lr = 0.f, .weight_decay = .1f},
};

template <class Low, class Storage, class E>
void check_all(const E& executor, double most_ulps) {
  CAPTURE(mezzo::element_traits<Low>::name);
  CAPTURE(Storage::keeps_master);
  double worst_bound = 0, worst_error = 0;
  for (std::size_t c = 0; c < configurations.size(); ++c) {
    CAPTURE(c);
    const Accuracy accuracy = check_against_reference<AdamW, AdamWReference, Low, Storage, float>(executor, configurations[c]);
    worst_bound = std::max(worst_bound, accuracy.worst_bound);
    worst_error = std::max(worst_error, accuracy.worst_error);
  }
  MESSAGE(std::string(mezzo::element_traits<Low>::name) << ": largest error after 50 steps: " << worst_error << " ulp; bound: " << worst_bound << " ulp");
  CHECK(worst_bound <= most_ulps);
}

// Every element is held to its own running bound; the number is what that bound came to, rounded up, for weights above 1/4. A
// step rounds the weight twice and adds the direction's error, a few u of lr times the direction: up to 6 ulp with lr = 0.1.
TEST_CASE_TEMPLATE("fifty_steps_with_masters_stay_within_320_ulp_of_float64", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_all<float16, Float32Master>(executor, 320);
  check_all<bfloat16, Float32Master>(executor, 320);
  check_all<float, Float32Master>(executor, 320);
}

TEST_CASE_TEMPLATE("fifty_steps_without_masters_stay_within_the_roundings_of_the_model", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_all<float16, NoMaster>(executor, 80 * 0x1p13);  // 80 ulp of float16
  check_all<bfloat16, NoMaster>(executor, 80 * 0x1p16);
}

// -- single steps by hand --------------------------------------------------------------------------------------------------------

template <class E>
struct One {
  Buffer<float> weight, gradient;
  mezzo::MasterOptimizer<AdamW, float> optimizer;
  One(const E& executor, float start, const AdamW::Options& options)
      : weight(executor, std::vector{start}), gradient(executor, 1), optimizer(executor, {{weight.span(), gradient.span()}}, options) {}
  float step(float g) {
    gradient.write({g});
    optimizer.step();
    return weight.read()[0];
  }
};

TEST_CASE_TEMPLATE("the_first_step_moves_by_lr_against_the_sign_of_the_gradient", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  // m / (1 - beta1) = g and sqrt(v / (1 - beta2)) = |g| but for a few roundings: relative 8 u of a move of lr.
  for (const float g : {1.f, -1e-3f, 1e-7f * 1e3f, 1e15f}) {
    One<E> one(executor, 0.f, {.lr = .125f, .epsilon = 0.f, .weight_decay = 0.f});
    CHECK(std::fabs(std::fabs(wide(one.step(g))) - .125) <= 8 * u32 * .125);
  }
}

TEST_CASE_TEMPLATE("decay_is_decoupled_from_the_gradient", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  One<E> one(executor, 8.f, {.lr = .5f, .weight_decay = .25f});
  CHECK(one.step(0.f) == 7.f);
  CHECK(one.step(0.f) == 6.125f);
}

TEST_CASE_TEMPLATE("an_element_that_never_saw_a_gradient_rests_also_with_epsilon_0", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const float epsilon : {0.f, 1e-8f}) {
    for (const float start : {1.f, 0.f, -0.f, 0x1p-149f}) {
      One<E> one(executor, start, {.lr = .5f, .epsilon = epsilon, .weight_decay = 0.f});
      for (int i = 0; i < 3; ++i) CHECK(mezzo::to_bits(one.step(0.f)) == mezzo::to_bits(start));
    }
  }
}

TEST_CASE_TEMPLATE("a_learning_rate_of_0_changes_nothing", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const float start : {1.f, -3e-39f, 0.f, 1e30f}) {
    One<E> one(executor, start, {.lr = 0.f, .weight_decay = .1f});
    for (const float g : {1.f, -2.f}) CHECK(mezzo::to_bits(one.step(g)) == mezzo::to_bits(start));
  }
}

TEST_CASE_TEMPLATE("half_parameters_with_zero_gradients_do_not_move", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Buffer<float16> w(executor, std::vector{mezzo::convert<float16>(1.f)}), g(executor, 1);
  mezzo::MasterOptimizer<AdamW, float16, NoMaster> optimizer(executor, {{w.span(), g.span()}}, {.weight_decay = 0.f});
  for (int i = 0; i < 3; ++i) optimizer.step();  // epsilon is 0 in float16: it must not be kept there
  CHECK(mezzo::to_bits(w.read()[0]) == 0x3c00);
}

// Squares beyond float: v becomes infinite, or vanishes; weights stay finite either way.
TEST_CASE_TEMPLATE("finite_gradients_of_any_size_never_make_a_weight_infinite_or_nan", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const float largest = mezzo::element_limits<float>::largest();
  for (const AdamW::Options& options : {AdamW::Options{}, AdamW::Options{.beta1 = 0.f}, AdamW::Options{.beta2 = 0.f}, AdamW::Options{.beta1 = 0.f, .beta2 = 0.f},
                                        AdamW::Options{.beta1 = .3f, .beta2 = .1f}, AdamW::Options{.epsilon = 0.f}, AdamW::Options{.beta2 = .999999f, .epsilon = 0.f}}) {
    CAPTURE(options.beta1);
    CAPTURE(options.beta2);
    CAPTURE(options.epsilon);
    for (const auto& sequence : std::vector<std::vector<float>>{{1e21f, 1.f, 1.f}, {largest, largest, largest}, {largest, -largest, largest},
                                                                {1e-23f, 1e-23f}, {0x1p-149f, 0x1p-149f, -0x1p-149f}, {1.9e19f, -1e-30f, 0.f}}) {
      CAPTURE(sequence[0]);
      One<E> one(executor, 1.f, options);
      for (const float g : sequence) CHECK(mezzo::is_finite(one.step(g)));
    }
  }
}

TEST_CASE_TEMPLATE("an_element_whose_second_moment_is_infinite_rests", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  One<E> one(executor, 1.f, {.lr = .5f, .weight_decay = 0.f});
  for (const float g : {1e21f, 1.f, -1.f}) CHECK(one.step(g) == 1.f);  // .001 * 1e42 is beyond float
}

// beta^t for long runs: the correction must be that of float64 to within one rounding.
TEST_CASE("bias_corrections_are_those_of_float64_to_one_float32_ulp") {
  for (const float beta1 : {0.f, .5f, .9f, .99f}) {
    for (const float beta2 : {0.f, .9f, .999f, .9999f, .999999f}) {
      for (const std::uint64_t step : {1ULL, 2ULL, 3ULL, 10ULL, 1000ULL, 123'456ULL, 10'000'000ULL}) {
        const AdamW::Scalars s = AdamW::scalars({.lr = .1f, .beta1 = beta1, .beta2 = beta2}, wide(.1f), step);
        const long double power1 = std::pow(static_cast<long double>(beta1), static_cast<long double>(step));
        const long double power2 = std::pow(static_cast<long double>(beta2), static_cast<long double>(step));
        const auto size = static_cast<double>(static_cast<long double>(.1f) / (1 - power1));
        const auto root = static_cast<double>(1 / std::sqrt(1 - power2));
        CAPTURE(beta1);
        CAPTURE(beta2);
        CAPTURE(step);
        CHECK(in_ulps(wide(s.step_size) - size, size) <= 1);
        CHECK(in_ulps(wide(s.root_correction) - root, root) <= 1);
        CHECK(wide(s.one_minus_beta2) == wide(mezzo::exact::to_float(1. - wide(beta2))));
      }
    }
  }
}

TEST_CASE("options_out_of_range_are_refused_by_name") {
  const mezzo::HostExecutor executor;
  const float nan = mezzo::element_limits<float>::quiet_nan(), infinity = mezzo::element_limits<float>::infinity();
  std::vector<float> w{1.f}, g{1.f};
  const auto refused = [&](const AdamW::Options& options) {
    return MEZZO_REFUSAL(mezzo::InvalidArgument, mezzo::MasterOptimizer<AdamW, float>(executor, {{w, g}}, options));
  };
  CHECK(refused({.lr = -1.f}) == "AdamW::Options: lr must be finite and not negative, got -1");
  CHECK(refused({.lr = nan}) == "AdamW::Options: lr must be finite and not negative, got nan");
  CHECK(refused({.beta1 = 1.f}) == "AdamW::Options: beta1 must lie in [0, 1), got 1");
  CHECK(refused({.beta1 = -.1f}) == "AdamW::Options: beta1 must lie in [0, 1), got -0.1");
  CHECK(refused({.beta2 = 1.5f}) == "AdamW::Options: beta2 must lie in [0, 1), got 1.5");
  CHECK(refused({.epsilon = -1.f}) == "AdamW::Options: epsilon must be finite and not negative, got -1");
  CHECK(refused({.weight_decay = infinity}) == "AdamW::Options: weight_decay must be finite and not negative, got inf");
  CHECK(refused({}) == "not refused");
}

static_assert(AdamW::moments == 2 && mezzo::UpdateRule<AdamW>);

}  // namespace
