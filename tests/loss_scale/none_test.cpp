#include <mezzo/loss_scale/none.hpp>

#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>

#include "executor/counting.hpp"
#include "loss_scale/support.hpp"
#include "support/executors.hpp"

namespace {

using mezzo::Check;
using mezzo::NoLossScaler;
using mezzo::test::bits_of;
using mezzo::test::Buffer;
using Checking = NoLossScaler::with<Check::skip_nonfinite>;
using Optimizer = mezzo::MasterOptimizer<mezzo::AdamW, mezzo::bfloat16>;

const float nan = mezzo::element_limits<float>::quiet_nan();

TEST_CASE("without_checks_there_is_no_memory_and_no_kernel_beyond_the_optimizers_own") {
  counting::Ledger ledger;
  const counting::Executor executor{&ledger};
  std::vector<float> w{1.f, 2.f}, g{.5f, .25f};
  Optimizer optimizer(executor, {{w, g}}, mezzo::AdamW::Options{});
  const auto work_of = [&ledger](auto&& step) {
    const int launches = ledger.launches, copies = ledger.copies, fills = ledger.fills, waits = ledger.waits;
    step();
    CHECK(ledger.copies == copies);
    CHECK(ledger.fills == fills);
    CHECK(ledger.waits == waits);
    return ledger.launches - launches;
  };
  const int bare = work_of([&] { optimizer.step(); });
  const int allocations = ledger.allocations, work = ledger.work();
  NoLossScaler scaler(executor);
  CHECK(ledger.allocations == allocations);
  CHECK(ledger.work() == work);
  CHECK(work_of([&] {
          scaler.unscale(optimizer);
          scaler.step(optimizer);
          scaler.update();
        }) == bare);
}

TEST_CASE_TEMPLATE("without_checks_the_bits_are_those_of_no_scaler", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const std::vector<float> start{1.f, -2.f, 3.5f};
  const Buffer<float> a(executor, start), b(executor, start), g(executor, {.5f, nan, 1e-3f});
  Optimizer with(executor, {{a.span(), g.span()}}, mezzo::AdamW::Options{}), without(executor, {{b.span(), g.span()}}, mezzo::AdamW::Options{});
  NoLossScaler scaler(executor);
  for (int i = 0; i < 3; ++i) {
    scaler.step(with);
    scaler.update();
    without.step();
  }
  CHECK((bits_of(a.read()) == bits_of(b.read())));
  CHECK(mezzo::is_nan(a.read()[1]));  // it checks nothing
  CHECK(with.state() == without.state());
  CHECK(scaler.state() == mezzo::LossScaleState{});
  CHECK(scaler.device_view().scale() == 1.f);
}

TEST_CASE_TEMPLATE("with_checks_a_step_with_a_nan_is_skipped_and_counted", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Buffer<float> w(executor, {1.f, 2.f}), g(executor, {.5f, nan});
  Optimizer optimizer(executor, {{w.span(), g.span()}}, mezzo::AdamW::Options{});
  Checking scaler(executor);
  scaler.step(optimizer);
  scaler.update();
  CHECK(w.read() == std::vector<float>{1.f, 2.f});
  CHECK(optimizer.state().skipped_steps == 1);
  CHECK(scaler.state().skipped_steps == 1);
  CHECK(scaler.state().scale == 1.f);
  g.write({.5f, .5f});
  scaler.step(optimizer);
  scaler.update();
  CHECK(w.read()[0] != 1.f);
  CHECK(scaler.state().applied_steps == 1);
  CHECK(scaler.state().scale == 1.f);
}

TEST_CASE_TEMPLATE("loss_and_gradients_pass_unchanged", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const std::vector<float> values{1.f, -3.f, 0x1p-140f};
  const Buffer<float> in(executor, values), out(executor, 3);
  NoLossScaler scaler(executor);
  scaler.scale(in.span(), out.span());
  CHECK((bits_of(out.read()) == bits_of(values)));
  scaler.unscale(out.span());
  CHECK((bits_of(out.read()) == bits_of(values)));
  scaler.update();
}

}  // namespace
