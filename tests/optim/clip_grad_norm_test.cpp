#include <mezzo/optim/clip_grad_norm.hpp>

#include <cmath>

#include "support/executors.hpp"
#include "support/message.hpp"

namespace clip_grad_norm_test {

using namespace mezzo;
using test::Buffer;

constexpr LossScaleConfig large{.init_scale = 65536.f};

TEST_CASE_TEMPLATE("the_threshold_is_for_unscaled_gradients_with_and_without_unscale", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const bool explicitly : {false, true}) {
    // True gradients .3 and .4: norm .5, below the threshold 1, and above the threshold .25.
    for (const float threshold : {1.f, .25f}) {
      const Buffer<float> w(executor, std::vector<float>(2)), g(executor, std::vector<float>{.3f * 65536.f, .4f * 65536.f});
      MasterOptimizer<Sgd, float> optimizer{executor, {{w.span(), g.span()}}, Sgd::Options{.lr = 1.f}};
      DynamicLossScaler<large> scaler{executor};
      if (explicitly) scaler.unscale(optimizer);
      clip_grad_norm(scaler, optimizer, threshold);
      scaler.step(optimizer);
      const double norm = std::sqrt(static_cast<double>(.3f) * .3f + static_cast<double>(.4f) * .4f);
      CHECK(optimizer.state().gradient_norm == norm);
      const float factor = threshold == 1.f ? 1.f : static_cast<float>(.25 / (norm + 1e-6));
      CHECK(w.read()[0] == -(.3f * factor));
      CHECK(w.read()[1] == -(.4f * factor));
    }
  }
}

TEST_CASE_TEMPLATE("the_norm_of_half_gradients_does_not_overflow_half", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float16> w(executor, std::vector<float16>(4)), g(executor, std::vector<float16>(4, convert<float16>(300.f)));
  MasterOptimizer<Sgd, float16> optimizer{executor, {{w.span(), g.span()}}};
  NoLossScaler scaler{executor};
  clip_grad_norm(scaler, optimizer, 1.f);
  CHECK(optimizer.state().gradient_norm == 600.);
}

TEST_CASE_TEMPLATE("a_norm_that_is_not_finite_skips_the_step_whatever_the_scaler", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const auto skips = [&](auto&& scaler) {
    const Buffer<float> w(executor, std::vector<float>{1.f, 2.f}), g(executor, std::vector<float>{element_limits<float>::infinity(), 1.f});
    MasterOptimizer<Sgd, float> optimizer{executor, {{w.span(), g.span()}}};
    clip_grad_norm(scaler, optimizer, 1.f);
    scaler.step(optimizer);
    CHECK(w.read() == std::vector<float>{1.f, 2.f});
    CHECK(!is_finite(optimizer.state().gradient_norm));
    CHECK(optimizer.state().skipped_steps == 1);
  };
  skips(NoLossScaler{executor});
  skips(StaticLossScaler<1.f>{executor});
  skips(DynamicLossScaler<>{executor});
}

TEST_CASE_TEMPLATE("the_next_iteration_is_not_clipped_by_the_last", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float> w(executor, std::vector<float>{0.f}), g(executor, std::vector<float>{4.f});
  MasterOptimizer<Sgd, float> optimizer{executor, {{w.span(), g.span()}}, Sgd::Options{.lr = 1.f}};
  StaticLossScaler<1.f> scaler{executor};
  clip_grad_norm(scaler, optimizer, 1.f);
  scaler.step(optimizer);
  scaler.update();
  const float first = w.read()[0];
  CHECK(first == -(4.f * static_cast<float>(1. / (4. + 1e-6))));
  scaler.step(optimizer);
  CHECK(w.read()[0] == first - 4.f);
}

TEST_CASE("a_threshold_or_an_order_that_cannot_be_is_refused") {
  const HostExecutor executor;
  std::vector<float> w(1), g(1);
  MasterOptimizer<Sgd, float> optimizer{executor, {{w, g}}};
  DynamicLossScaler<> scaler{executor};
  CHECK(MEZZO_REFUSAL(InvalidArgument, clip_grad_norm(scaler, optimizer, 0.f)) == "clip_grad_norm: max_norm must be positive and finite, got 0");
  CHECK(MEZZO_REFUSAL(InvalidArgument, clip_grad_norm(scaler, optimizer, element_limits<float>::infinity())) ==
        "clip_grad_norm: max_norm must be positive and finite, got inf");
  scaler.step(optimizer);
  CHECK(MEZZO_REFUSAL(StateError, clip_grad_norm(scaler, optimizer, 1.f)) == "clip_grad_norm: called after step; call it before, or call update first");
}

}  // namespace clip_grad_norm_test
