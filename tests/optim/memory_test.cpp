// What an optimizer asks of its executor: memory once, two launches a step, no waiting.
#include <mezzo/optim/master_optimizer.hpp>

#include <vector>

#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/clip_grad_norm.hpp>

#include "executor/counting.hpp"
#include "support/message.hpp"

namespace {

using mezzo::AdamW;
using mezzo::DynamicLossScaler;
using mezzo::float16;
using mezzo::MasterOptimizer;
using Optimizer = MasterOptimizer<AdamW, float16>;

struct Model {
  std::vector<float16> w = std::vector<float16>(1000), g = w;
  std::vector<float> bias = std::vector<float>(10), bias_gradient = bias;
  std::vector<Optimizer::Parameter> parameters() { return {{w, g}, {bias, bias_gradient}}; }
};

TEST_CASE("a_step_is_two_launches_whatever_the_number_of_parameters_and_never_waits") {
  for (const std::size_t count : {1U, 2U, 500U}) {
    counting::Ledger ledger;
    const counting::Executor executor{&ledger};
    std::vector<Model> models(count);
    std::vector<Optimizer::Parameter> parameters;
    for (Model& model : models) {
      for (const auto& parameter : model.parameters()) parameters.push_back(parameter);
    }
    Optimizer optimizer(executor, parameters);
    DynamicLossScaler<> scaler(executor);
    const int allocations = ledger.allocations;
    CHECK(allocations == 2);
    const auto launches_of = [&](auto&& work) {
      const int launches = ledger.launches, copies = ledger.copies, fills = ledger.fills, waits = ledger.waits;
      work();
      CHECK(ledger.copies == copies);
      CHECK(ledger.fills == fills);
      CHECK(ledger.waits == waits);
      CHECK(ledger.allocations == allocations);
      return ledger.launches - launches;
    };
    CHECK(launches_of([&] { scaler.step(optimizer); }) == 2);
    CHECK(launches_of([&] { scaler.update(); }) == 1);
    CHECK(launches_of([&] { scaler.unscale(optimizer); }) == 1);
    CHECK(launches_of([&] { clip_grad_norm(scaler, optimizer, 1.f); }) == 1);
    CHECK(launches_of([&] { scaler.step(optimizer); }) == 1);
    CHECK(launches_of([&] { scaler.update(); }) == 1);
    CHECK(launches_of([&] { optimizer.zero_grad(); }) == 1);
    CHECK(launches_of([&] { optimizer.step(); }) == 2);
    CHECK(launches_of([&] { optimizer.set_learning_rate(1.f); }) == 1);
  }
}

TEST_CASE("memory_is_taken_once_and_given_back") {
  counting::Ledger ledger;
  const counting::Executor executor{&ledger};
  {
    Model model;
    Optimizer optimizer(executor, model.parameters());
    CHECK(ledger.live == 1);
    CHECK(ledger.bytes == optimizer.storage_bytes());
    Optimizer moved(std::move(optimizer));
    CHECK(ledger.live == 1);
    moved = Optimizer(executor, model.parameters());
    CHECK(ledger.live == 1);
    moved.copy_model_to_masters();
    moved.copy_masters_to_model();
    CHECK(ledger.allocations == 2);
  }
  CHECK(ledger.live == 0);
  CHECK(ledger.bytes == 0);
}

TEST_CASE("a_failed_allocation_leaks_nothing_and_says_where") {
  for (int left = 0; left < 3; ++left) {
    counting::Ledger ledger{.allocations_left = left};
    const counting::Executor executor{&ledger};
    Model model;
    const auto build = [&] {
      Optimizer first(executor, model.parameters());
      DynamicLossScaler<> scaler(executor);
      Model other;
      Optimizer second(executor, other.parameters());
    };
    CHECK(MEZZO_REFUSAL(mezzo::OutOfMemory, build()).starts_with("Executor: no memory left for "));
    CHECK(ledger.live == 0);
  }
}

// The counting executor fills what it allocates with 0xff: what is not initialised shows as NaN or as huge counts.
TEST_CASE("nothing_that_is_read_was_left_uninitialised") {
  counting::Ledger ledger;
  const counting::Executor executor{&ledger};
  Model model;
  for (float16& g : model.g) g = mezzo::convert<float16>(mezzo::element_limits<float>::infinity());
  Optimizer optimizer(executor, model.parameters());
  DynamicLossScaler<> scaler(executor);
  CHECK(optimizer.state() == mezzo::OptimizerState{});
  CHECK(scaler.state() == mezzo::LossScaleState{.scale = 65536.f});
  scaler.step(optimizer);  // an overflow on the very first step
  scaler.update();
  for (int which = 0; which < 2; ++which) {
    for (std::size_t i = 0; i < optimizer.size(); ++i) {
      for (const float moment : optimizer.moment(i, which)) CHECK(mezzo::to_bits(moment) == 0);
    }
  }
  optimizer.zero_grad();
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.state().applied_steps == 1);
  for (const float16 w : model.w) CHECK(mezzo::to_bits(w) == 0);
}

TEST_CASE("memory_that_the_executor_cannot_reach_is_refused") {
  counting::Ledger ledger{.refuse = true};
  const counting::Executor executor{&ledger};
  Model model;
  CHECK(MEZZO_REFUSAL(mezzo::InvalidArgument, Optimizer(executor, model.parameters()))
            .starts_with("MasterOptimizer: parameter 0: model must be memory of the executor's device, got address 0x"));
  CHECK(ledger.work() == 0);
  CHECK(ledger.allocations == 0);
}

TEST_CASE("masters_and_moments_start_in_the_alignment_phase_of_their_model") {
  const mezzo::HostExecutor executor;
  alignas(64) static float16 w[64], g[64];
  for (std::size_t offset = 0; offset < 8; ++offset) {
    Optimizer optimizer(executor, {{mezzo::Span<float16>(w + offset, 5), mezzo::Span<float16>(g + offset, 5)}});
    const auto phase = [](const float* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) / sizeof(float) % 8; };
    CHECK(phase(optimizer.master(0).data()) == offset);
    CHECK(phase(optimizer.moment(0, 0).data()) == offset);
    CHECK(phase(optimizer.moment(0, 1).data()) == offset);
  }
}

}  // namespace
