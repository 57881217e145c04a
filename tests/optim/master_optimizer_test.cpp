#include <mezzo/optim/master_optimizer.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "support/executors.hpp"
#include "support/message.hpp"

namespace master_optimizer_test {

using namespace mezzo;
using test::Buffer;
using test::bits_of;

constexpr float infinity = element_limits<float>::infinity();
constexpr LossScaleConfig config{.init_scale = 1024.f};

template <class T>
std::vector<T> some(std::size_t n, unsigned seed, float scale) {
  std::mt19937 random(seed);
  std::vector<T> values(n);
  for (T& value : values) value = convert<T>(scale * (static_cast<float>(random() % 2001) / 1000.f - 1.f));
  return values;
}

/// A model with parameters of both types and gradients of both types, of awkward sizes and offsets.
template <class Rule, class E, class Low = float16>
struct Model {
  explicit Model(const E& executor, float gradient_scale = 1024.f)
      : w16(executor, some<Low>(1000, 1, 1.f), 3), g16(executor, some<Low>(1000, 2, gradient_scale), 5),
        w16b(executor, some<Low>(17, 3, 1.f)), g32(executor, some<float>(17, 4, gradient_scale), 1),
        w32(executor, some<float>(33, 5, 1.f), 1), h32(executor, some<float>(33, 6, gradient_scale)),
        empty(executor, std::vector<Low>{}) {}

  std::vector<typename MasterOptimizer<Rule, Low>::Parameter> parameters() {
    return {{w16.span(), g16.span()},
            {.model = empty.span(), .gradient = empty.span()},
            {.model = w16b.span(), .gradient = g32.span(), .name = "mixed", .group = 1},
            {.model = w32.span(), .gradient = h32.span(), .name = "bias"}};
  }

  Buffer<Low> w16, g16, w16b;
  Buffer<float> g32, w32, h32;
  Buffer<Low> empty;
};

/// Every bit that a step may change.
template <class Optimizer, class M, class E>
std::vector<std::uint32_t> all_bits(const E& executor, Optimizer& optimizer, const M& model) {
  std::vector<std::uint32_t> bits;
  const auto add = [&](const auto& values) { for (const auto b : bits_of(values)) bits.push_back(b); };
  add(model.w16.read()), add(model.w16b.read()), add(model.w32.read());
  const auto add_span = [&](Span<float> span) {
    std::vector<float> values(span.size());
    if (!values.empty()) executor.copy(values.data(), span.data(), span.size_bytes());
    executor.wait();
    add(values);
  };
  for (std::size_t i = 0; i < optimizer.size(); ++i) {
    add_span(optimizer.master(i));
    add_span(optimizer.moment(i, 0));
  }
  return bits;
}

TEST_CASE_TEMPLATE("a_step_with_a_nonfinite_gradient_anywhere_changes_no_bit", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const float bad : {infinity, -infinity, element_limits<float>::quiet_nan()}) {
    for (int where = 0; where < 3; ++where) {
      Model<AdamW, E> model(executor);
      MasterOptimizer<AdamW, float16> optimizer{executor, model.parameters(), {AdamW::Options{}, AdamW::Options{.weight_decay = 0.f}}};
      DynamicLossScaler<config> scaler{executor};
      scaler.step(optimizer);
      scaler.update();
      const auto before = all_bits(executor, optimizer, model);
      auto g16 = model.g16.read();
      auto g32 = model.g32.read(), h32 = model.h32.read();
      if (where == 0) g16[999] = convert<float16>(bad);
      if (where == 1) g32[0] = bad;
      if (where == 2) h32[32] = bad;
      model.g16.write(g16), model.g32.write(g32), model.h32.write(h32);
      scaler.step(optimizer);
      scaler.update();
      CHECK(all_bits(executor, optimizer, model) == before);
      CHECK(optimizer.state().applied_steps == 1);
      CHECK(optimizer.state().skipped_steps == 1);
      CHECK(scaler.state().scale == 512.f);
    }
  }
}

TEST_CASE_TEMPLATE("unscale_before_step_gives_the_bits_of_step_alone", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<std::uint32_t> results[2];
  for (const bool explicitly : {false, true}) {
    Model<Sgd, E> model(executor);
    MasterOptimizer<Sgd, float16> optimizer{executor, model.parameters(), {Sgd::Options{.lr = .1f, .momentum = .9f}, Sgd::Options{.lr = .2f}}};
    DynamicLossScaler<config> scaler{executor};
    const auto g16 = model.g16.read();
    const auto h32 = model.h32.read();
    for (int step = 0; step < 3; ++step) {
      if (explicitly) {
        scaler.unscale(optimizer);
        CHECK(bits_of(model.g16.read()) == bits_of(g16));  // 16-bit gradients stay scaled
        CHECK(model.h32.read()[7] == h32[7] / 1024.f);     // float32 ones are divided
      }
      scaler.step(optimizer);
      scaler.update();
      model.h32.write(h32);
      model.g32.write(some<float>(17, 4, 1024.f));
    }
    results[explicitly] = all_bits(executor, optimizer, model);
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE_TEMPLATE("a_scaled_step_divides_once", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const bool explicitly : {false, true}) {
    const Buffer<float> w(executor, std::vector<float>{1.f}), g(executor, std::vector<float>{2.f * 65536.f});
    MasterOptimizer<Sgd, float> optimizer{executor, {{w.span(), g.span()}}, Sgd::Options{.lr = .1f}};
    DynamicLossScaler<> scaler{executor};
    if (explicitly) scaler.unscale(optimizer);
    scaler.step(optimizer);
    CHECK(w.read()[0] == exact::fma(-.1f, 2.f, 1.f));
  }
}

TEST_CASE_TEMPLATE("an_overflow_on_the_first_step_leaves_the_momentum_of_a_fresh_start", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float> w(executor, std::vector<float>{1.f});
  Buffer<float> g(executor, std::vector<float>{infinity});
  MasterOptimizer<Sgd, float> optimizer{executor, {{w.span(), g.span()}}, Sgd::Options{.lr = .1f, .momentum = .9f, .dampening = .5f}};
  NoLossScaler::with<Check::skip_nonfinite> scaler{executor};
  scaler.step(optimizer);
  scaler.update();
  g.write({1.f});
  scaler.step(optimizer);
  float momentum = 0;
  executor.copy(&momentum, optimizer.moment(0, 0).data(), sizeof momentum);
  executor.wait();
  CHECK(momentum == 1.f);  // the gradient itself: no dampening on the first applied step
  CHECK(w.read()[0] == exact::fma(-.1f, 1.f, 1.f));
}

TEST_CASE_TEMPLATE("two_optimizers_decide_each_for_itself_or_both_together", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const bool jointly : {false, true}) {
    const Buffer<float> a(executor, std::vector<float>{1.f}), ga(executor, std::vector<float>{infinity});
    const Buffer<float> b(executor, std::vector<float>{1.f}), gb(executor, std::vector<float>{1.f});
    // Of different types: ids are the program's, not a type's.
    MasterOptimizer<AdamW, float> first{executor, {{a.span(), ga.span()}}, AdamW::Options{}};
    MasterOptimizer<Sgd, float> second{executor, {{b.span(), gb.span()}}, Sgd::Options{.lr = .5f}};
    DynamicLossScaler<LossScaleConfig{.init_scale = 1.f}> scaler{executor};
    if (jointly) {
      scaler.step(first, second);
    } else {
      scaler.step(first);
      scaler.step(second);
    }
    scaler.update();
    CHECK(a.read()[0] == 1.f);
    CHECK(b.read()[0] == (jointly ? 1.f : .5f));
    CHECK(scaler.state().scale == .5f);
  }
}

TEST_CASE_TEMPLATE("a_frozen_group_keeps_weights_and_moments_and_its_gradients_are_not_looked_at", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Model<AdamW, E> model(executor);
  MasterOptimizer<AdamW, float16> optimizer{executor, model.parameters(), {AdamW::Options{}, AdamW::Options{}}};
  DynamicLossScaler<config> scaler{executor};
  optimizer.set_frozen(1, true);
  const auto before = model.w16b.read();
  model.g32.write(std::vector<float>(17, infinity));
  const auto others = model.w16.read();
  scaler.unscale(optimizer);
  scaler.step(optimizer);
  scaler.update();
  CHECK(bits_of(model.w16b.read()) == bits_of(before));
  CHECK(bits_of(model.w16.read()) != bits_of(others));
  CHECK(std::isfinite(optimizer.state().gradient_norm));
  optimizer.set_frozen(1, false);
  scaler.step(optimizer);
  CHECK(optimizer.state().skipped_steps == 1);
}

TEST_CASE_TEMPLATE("a_given_master_is_read_as_it_is_and_the_model_is_written_from_it", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<bfloat16> w(executor, std::vector<bfloat16>(9, convert<bfloat16>(-5.f))), g(executor, std::vector<bfloat16>(9));
  const auto values = some<float>(9, 7, 1.f);
  const Buffer<float> master(executor, values);
  MasterOptimizer<Sgd, bfloat16> optimizer{executor, {{.model = w.span(), .gradient = g.span(), .master = master.span()}}, Sgd::Options{}};
  CHECK(bits_of(master.read()) == bits_of(values));
  for (std::size_t i = 0; i < 9; ++i) CHECK(to_bits(w.read()[i]) == to_bits(convert<bfloat16>(values[i])));
  CHECK(optimizer.master(0).data() == master.data());
}

TEST_CASE_TEMPLATE("masters_move_by_updates_that_the_low_type_cannot_see", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<bfloat16> w(executor, std::vector<bfloat16>{convert<bfloat16>(1.f)}), g(executor, std::vector<bfloat16>{convert<bfloat16>(1.f)});
  const Buffer<bfloat16> v(executor, std::vector<bfloat16>{convert<bfloat16>(1.f)});
  MasterOptimizer<Sgd, bfloat16> with_master{executor, {{w.span(), g.span()}}, Sgd::Options{.lr = 6e-4f}};
  MasterOptimizer<Sgd, bfloat16, NoMaster> without{executor, {{v.span(), g.span()}}, Sgd::Options{.lr = 6e-4f}};
  for (int step = 0; step < 100; ++step) {
    with_master.step();
    without.step();
  }
  float master = 0;
  executor.copy(&master, with_master.master(0).data(), sizeof master);
  executor.wait();
  CHECK(std::abs(master - .94f) <= 100 * 0x1p-25f);  // each of 100 sums in [.5, 1] rounds by at most 2^-25
  CHECK(convert<float>(w.read()[0]) == .94140625f);
  CHECK(convert<float>(v.read()[0]) == 1.f);
  CHECK(without.master(0).empty());
}

TEST_CASE_TEMPLATE("resume_equals_no_stop", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Model<AdamW, E> straight(executor), stopped(executor), fresh(executor);
  const std::initializer_list<AdamW::Options> options{AdamW::Options{}, AdamW::Options{.lr = .5f}};
  MasterOptimizer<AdamW, float16> a{executor, straight.parameters(), options}, b{executor, stopped.parameters(), options},
      c{executor, fresh.parameters(), options};
  for (int step = 0; step < 20; ++step) a.step();
  for (int step = 0; step < 10; ++step) b.step();
  c.load_state(b.state());
  for (std::size_t i = 0; i < b.size(); ++i) {
    executor.copy(c.master(i).data(), b.master(i).data(), b.master(i).size_bytes());
    for (int k = 0; k < 2; ++k) executor.copy(c.moment(i, k).data(), b.moment(i, k).data(), b.moment(i, k).size_bytes());
  }
  c.copy_masters_to_model();
  for (int step = 0; step < 10; ++step) c.step();
  CHECK(all_bits(executor, c, fresh) == all_bits(executor, a, straight));
}

TEST_CASE_TEMPLATE("zero_grad_stores_positive_zeros_in_every_gradient", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Model<Sgd, E> model(executor);
  MasterOptimizer<Sgd, float16> optimizer{executor, model.parameters(), {Sgd::Options{}, Sgd::Options{}}};
  optimizer.zero_grad();
  for (const auto x : model.g16.read()) CHECK(to_bits(x) == 0);
  for (const float x : model.g32.read()) CHECK(to_bits(x) == 0);
  for (const float x : model.h32.read()) CHECK(to_bits(x) == 0);
}

TEST_CASE_TEMPLATE("an_optimizer_without_parameters_or_with_empty_ones_only_counts", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float16> empty(executor, std::vector<float16>{});
  MasterOptimizer<AdamW, float16> none{executor, {}}, empties{executor, {{empty.span(), empty.span()}, {empty.span(), empty.span()}}};
  DynamicLossScaler<> scaler{executor};
  scaler.unscale(none);
  clip_grad_norm(scaler, none, 1.f);
  scaler.step(none, empties);
  scaler.update();
  none.zero_grad();
  CHECK(none.state().applied_steps == 1);
  CHECK(empties.state().applied_steps == 1);
  CHECK(none.state().gradient_norm == 0.);
  CHECK(scaler.state().growth_tracker == 1);
}

TEST_CASE_TEMPLATE("lent_memory_gives_the_same_bits", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Model<AdamW, E> own_model(executor), lent_model(executor);
  const auto parameters = lent_model.parameters();
  const std::size_t bytes = MasterOptimizer<AdamW, float16>::storage_bytes(as_span(parameters), 2);
  const Memory storage(executor, bytes);
  MasterOptimizer<AdamW, float16> own{executor, own_model.parameters(), {AdamW::Options{}, AdamW::Options{}}};
  MasterOptimizer<AdamW, float16> lent{executor, parameters, {AdamW::Options{}, AdamW::Options{}}, Span<std::byte>(storage.data(), bytes)};
  CHECK(own.storage_bytes() == bytes);
  for (int step = 0; step < 3; ++step) own.step(), lent.step();
  CHECK(all_bits(executor, own, own_model) == all_bits(executor, lent, lent_model));
  CHECK(MEZZO_REFUSAL(InvalidArgument, MasterOptimizer<AdamW, float16>(executor, parameters, {AdamW::Options{}, AdamW::Options{}},
                                                                    Span<std::byte>(storage.data(), bytes - 1)))
            .starts_with("MasterOptimizer: storage must hold "));
}

TEST_CASE("a_moved_optimizer_goes_on_and_the_one_left_behind_says_so") {
  const HostExecutor executor;
  std::vector<float> w{1.f}, g{1.f};
  MasterOptimizer<Sgd, float> first{executor, {{w, g}}, Sgd::Options{.lr = .5f}};
  const std::uint64_t id = first.id();
  MasterOptimizer<Sgd, float> second = std::move(first);
  CHECK(second.id() == id);
  second.step();
  CHECK(w[0] == .5f);
  const std::string moved = "MasterOptimizer: used after it was moved from";
  CHECK(MEZZO_REFUSAL(StateError, first.step()) == moved);
  CHECK(MEZZO_REFUSAL(StateError, first.zero_grad()) == moved);
  CHECK(MEZZO_REFUSAL(StateError, first.state()) == moved);
  CHECK(MEZZO_REFUSAL(StateError, first.copy_model_to_masters()) == moved);
  CHECK(MEZZO_REFUSAL(StateError, first.copy_masters_to_model()) == moved);
  CHECK(MEZZO_REFUSAL(StateError, first.gradient(0)) == moved);
  auto& same = second;
  second = std::move(same);
  second.step();
  CHECK(w[0] == 0.f);
}

TEST_CASE("gradients_that_a_scaler_has_checked_are_not_stepped_without_it") {
  const HostExecutor executor;
  std::vector<float16> w(1), g{convert<float16>(1024.f)};
  MasterOptimizer<Sgd, float16> optimizer{executor, {{w, g}}};
  DynamicLossScaler<config> scaler{executor};
  scaler.unscale(optimizer);
  CHECK(MEZZO_REFUSAL(StateError, optimizer.step()) == "MasterOptimizer: a scaler has checked these gradients; call its step(optimizer) instead, or zero_grad before new ones are written");
  CHECK(to_bits(w[0]) == 0);
  scaler.step(optimizer);
  scaler.update();
  optimizer.step();
}

TEST_CASE("between_a_check_and_its_step_a_group_neither_rests_nor_works_anew") {
  const HostExecutor executor;
  for (const bool clips : {false, true}) {
    for (const bool frozen_first : {false, true}) {
      CAPTURE(clips);
      CAPTURE(frozen_first);
      std::vector<float> w{1.f}, g{1024.f}, v{1.f}, q{1024.f};
      std::vector<float16> x{convert<float16>(1.f)}, p{convert<float16>(frozen_first ? infinity : 1024.f)};
      MasterOptimizer<Sgd, float16> optimizer{executor,
                                              {{w, g}, {.model = v, .gradient = q, .group = 1}, {.model = x, .gradient = p, .group = 1}},
                                              {Sgd::Options{.lr = .5f}, Sgd::Options{.lr = .5f}}};
      DynamicLossScaler<config> scaler{executor};  // scale 1024
      optimizer.set_frozen(1, frozen_first);
      if (clips) {
        clip_grad_norm(scaler, optimizer, 100.f);
      } else {
        scaler.unscale(optimizer);
      }
      optimizer.set_frozen(1, !frozen_first);
      scaler.step(optimizer);
      scaler.update();
      CHECK(w[0] == .5f);
      CHECK(v[0] == (frozen_first ? 1.f : .5f));
      CHECK(convert<float>(x[0]) == (frozen_first ? 1.f : .5f));
      CHECK(optimizer.state().applied_steps == 1);
      g[0] = q[0] = 1024.f;
      p[0] = convert<float16>(1024.f);
      scaler.step(optimizer);  // what was asked for holds from this check on
      scaler.update();
      CHECK(w[0] == 0.f);
      CHECK(v[0] == .5f);
      CHECK(convert<float>(x[0]) == .5f);
    }
  }
}

TEST_CASE("options_set_between_a_check_and_its_step_hold_for_that_step") {
  const HostExecutor executor;
  for (const bool schedules : {false, true}) {
    std::vector<float> w{1.f}, g{1024.f};
    MasterOptimizer<Sgd, float16> optimizer{executor, {{w, g}}, Sgd::Options{.lr = .5f}};
    DynamicLossScaler<config> scaler{executor};
    scaler.unscale(optimizer);
    if (schedules) {
      optimizer.set_schedule({.warmup_steps = 2});  // half the rate at first
    } else {
      optimizer.set_learning_rate(.25f);
    }
    scaler.step(optimizer);
    CHECK(w[0] == .75f);
  }
}

TEST_CASE("gradients_zeroed_or_a_state_loaded_after_a_check_are_checked_anew") {
  const HostExecutor executor;
  std::vector<float> w{1.f}, g{1024.f};
  MasterOptimizer<Sgd, float16> optimizer{executor, {{w, g}}, Sgd::Options{.lr = .5f}};
  DynamicLossScaler<config> scaler{executor};
  scaler.unscale(optimizer);
  clip_grad_norm(scaler, optimizer, .5f);
  optimizer.zero_grad();
  g[0] = 1024.f;
  optimizer.set_learning_rate(.25f);
  scaler.step(optimizer);
  scaler.update();
  CHECK(w[0] == doctest::Approx(1.f - .25f * .5f).epsilon(1e-5));  // divided once, clipped as was asked for
  scaler.unscale(optimizer);
  optimizer.load_state({.applied_steps = 7, .clip_factor = .125f});
  w[0] = 1.f;
  scaler.step(optimizer);
  CHECK(optimizer.state().applied_steps == 8);
  CHECK(optimizer.state().clip_factor == 1.f);
  CHECK(MEZZO_REFUSAL(InvalidArgument, optimizer.load_state({.applied_steps = ~std::uint64_t{0}})) ==
        "load_state: applied_steps must be below 2^63, got 18446744073709551615");
}

TEST_CASE("a_joint_step_with_a_moved_from_optimizer_queues_nothing") {
  const HostExecutor executor;
  std::vector<float> w{1.f}, g{element_limits<float>::infinity()}, v{1.f}, q{1.f};
  MasterOptimizer<Sgd, float> a{executor, {{w, g}}, Sgd::Options{.lr = .5f}}, b{executor, {{v, q}}};
  const MasterOptimizer<Sgd, float> c(std::move(b));
  DynamicLossScaler<config> scaler{executor};
  CHECK(MEZZO_REFUSAL(StateError, scaler.step(a, b)) != "not refused");
  g[0] = 1024.f;
  scaler.step(a);
  scaler.update();
  CHECK(w[0] == .5f);
  CHECK(a.state().skipped_steps == 0);
}

struct OtherExecutor : HostExecutor {};

TEST_CASE("a_scaler_on_another_kind_of_executor_is_refused_before_anything_is_queued") {
  const HostExecutor host;
  const OtherExecutor other;
  std::vector<float> w{1.f}, g{1.f};
  MasterOptimizer<Sgd, float> optimizer{other, {{w, g}}};
  DynamicLossScaler<config> scaler{host};
  const std::string refusal = "scaler and optimizer must be on executors of one kind and one device";
  CHECK(MEZZO_REFUSAL(InvalidArgument, scaler.step(optimizer)) == "step: " + refusal);
  CHECK(MEZZO_REFUSAL(InvalidArgument, scaler.unscale(optimizer)) == "unscale: " + refusal);
  CHECK(MEZZO_REFUSAL(InvalidArgument, clip_grad_norm(scaler, optimizer, 1.f)) == "clip_grad_norm: " + refusal);
  CHECK(w[0] == 1.f);
}

TEST_CASE("storage_bytes_are_those_in_use_of_larger_storage") {
  const HostExecutor executor;
  std::vector<float16> w(8), g(8);
  alignas(64) static std::byte storage[1 << 16];
  const MasterOptimizer<Sgd, float16> own{executor, {{w, g}}};
  const MasterOptimizer<Sgd, float16> lent{executor, {{w, g}}, Sgd::Options{}, storage};
  CHECK(lent.storage_bytes() == own.storage_bytes());
}

TEST_CASE("spans_that_do_not_fit_are_refused_by_parameter_and_rule") {
  const HostExecutor executor;
  using Optimizer = MasterOptimizer<Sgd, float16>;
  std::vector<float16> w(4), g(4), three(3);
  std::vector<float> m(4), three32(3);
  float16* const null = nullptr;
  const auto refusal = [&](const Optimizer::Parameter& parameter) {
    return MEZZO_REFUSAL(InvalidArgument, Optimizer(executor, std::vector{parameter}, Sgd::Options{}));
  };
  CHECK(refusal({w, three}) == "MasterOptimizer: parameter 0: gradient must have as many elements as the model (4), got 3");
  CHECK(refusal({.model = w, .gradient = g, .master = three32, .name = "fc"}) ==
        "MasterOptimizer: parameter 0 (\"fc\"): master must have as many elements as the model (4), got 3");
  CHECK(refusal({Span<float16>(null, 4), g}) == "MasterOptimizer: parameter 0: model is null with 4 elements");
  CHECK(refusal({.model = w, .gradient = g, .master = Span<float>(static_cast<float*>(nullptr), 4)}) ==
        "MasterOptimizer: parameter 0: master is null with 4 elements");
  CHECK(refusal({Span<float16>(null, 0), Span<float16>(null, 0)}) == "not refused");
  CHECK(refusal({.model = m, .gradient = g, .master = m}) == "MasterOptimizer: parameter 0: a float parameter is its own master, so none may be given");
  CHECK(refusal({.model = w, .gradient = g, .group = 1}) == "MasterOptimizer: parameter 0: group must be below 1, got 1");
  CHECK(refusal({w, w}) == "MasterOptimizer: parameter 0: gradient overlaps the model of parameter 0");
  alignas(4) char bytes[16] = {};
  CHECK(refusal({Span<float16>(reinterpret_cast<float16*>(bytes + 1), 4), g})
            .starts_with("MasterOptimizer: parameter 0: model must be aligned to 2 bytes, got address 0x"));
  CHECK(MEZZO_REFUSAL(InvalidArgument, Optimizer(executor, {{w, g}, {w, three}}, Sgd::Options{})) ==
        "MasterOptimizer: parameter 1: gradient must have as many elements as the model (4), got 3");
  std::vector<float16> h(4);
  CHECK(MEZZO_REFUSAL(InvalidArgument, Optimizer(executor, {{w, g}, {w, h}}, Sgd::Options{})) ==
        "MasterOptimizer: parameter 1: model overlaps the model of parameter 0");
  CHECK(MEZZO_REFUSAL(InvalidArgument, Optimizer(executor, {{w, g}}, Sgd::Options{.lr = -1.f})) ==
        "Sgd::Options: lr must be finite and not negative, got -1");
}

TEST_CASE("indices_out_of_range_are_refused") {
  const HostExecutor executor;
  std::vector<float> w(1), g(1);
  MasterOptimizer<Sgd, float> optimizer{executor, {{w, g}}};
  CHECK(MEZZO_REFUSAL(InvalidArgument, optimizer.parameter(1)) == "MasterOptimizer: parameter must be below 1, got 1");
  CHECK(MEZZO_REFUSAL(InvalidArgument, optimizer.moment(0, 1)) == "moment: which must be below 1, got 1");
  CHECK(MEZZO_REFUSAL(InvalidArgument, optimizer.set_learning_rate(1.f, 1)) == "set_learning_rate: group must be below 1, got 1");
  CHECK(MEZZO_REFUSAL(InvalidArgument, optimizer.set_frozen(1, true)) == "set_frozen: group must be below 1, got 1");
}

TEST_CASE_TEMPLATE("options_and_learning_rates_change_from_the_next_step_on", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float> w(executor, std::vector<float>{0.f}), g(executor, std::vector<float>{1.f});
  MasterOptimizer<Sgd, float> optimizer{executor, {{w.span(), g.span()}}, Sgd::Options{.lr = 1.f}};
  optimizer.step();
  optimizer.set_learning_rate(.5f);
  optimizer.step();
  optimizer.set_options(Sgd::Options{.lr = .25f});
  optimizer.step();
  CHECK(w.read()[0] == -1.75f);
  CHECK(optimizer.options().lr == .25f);
}

}  // namespace master_optimizer_test
