// A training step that was captured once and is replayed equals the eager one, bit for bit: nothing is decided on the host.
// On the host a recording stands for the graph; on a GPU it is a CUDA graph as well.
#include <random>
#include <utility>

#include "device/recording_executor.hpp"
#include "support/executors.hpp"

#ifdef __CUDACC__
#include "device/device.cuh"
#else
#include "support/skip.hpp"
#endif

// Types of kernels stand in a namespace with a name: nvcc 13.0 loses unnamed ones between its passes where templates use them.
namespace graph_test {

using namespace mezzo;

/// The user's backward pass: gradients of a batch, times the loss gradient that carries the scale.
struct Backward {
  const float* batch;
  const float16* loss_gradient;  // [8]
  const float16* weights;        // the model copy that the last step wrote
  float16* low;                  // the first `low_size` gradients
  float* wide;                   // the others
  std::uint64_t low_size;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const float pull = i < low_size ? exact::mul(convert<float>(weights[i]), 0.125f) : 0.f;
    const float gradient = exact::mul(exact::add(batch[i], pull), convert<float>(loss_gradient[i % 8]));
    if (i < low_size) {
      low[i] = convert<float16>(gradient);
    } else {
      wide[i - low_size] = gradient;
    }
  }
};

/// A forward pass: it reads the model copy.
struct Double {
  const float16* weight;
  float* output;
  MEZZO_HOST_DEVICE void operator()() const { *output = exact::mul(2.f, convert<float>(*weight)); }
};

/// A number that looks random, the same on host and device.
MEZZO_HOST_DEVICE inline std::uint64_t scrambled(std::uint64_t k) {
  k = (k ^ (k >> 30)) * 0xbf58476d1ce4e5b9U;
  k = (k ^ (k >> 27)) * 0x94d049bb133111ebU;
  return k ^ (k >> 31);
}
MEZZO_HOST_DEVICE inline bool overflows(std::uint64_t step) { return scrambled(step) % 7 < 2; }

/// The gradient of the next step: every seventh infinite, every seventh a NaN.
struct NextGradient {
  std::uint64_t* step;
  float16* gradient;
  MEZZO_HOST_DEVICE void operator()() const {
    const std::uint64_t now = ++*step;
    const float16 bad = scrambled(now) % 7 == 0 ? element_limits<float16>::infinity() : element_limits<float16>::quiet_nan();
    *gradient = overflows(now) ? bad : convert<float16>(1.f);
  }
};

}  // namespace graph_test

namespace {

using namespace mezzo;
using namespace mezzo::test;
using graph_test::Backward, graph_test::Double, graph_test::NextGradient;

/// Where a test captures and replays, on the host.
struct HostReplays {
  using Executor = RecordingExecutor;
  static bool available() { return true; }
  [[nodiscard]] Executor executor() { return Executor{recording_}; }
  template <class Queue>
  void capture(Queue&& queue) {
    recording_.active = true;
    queue();
    recording_.active = false;
  }
  void replay() {
    for (const auto& work : recording_.work) work();
  }

 private:
  Recording recording_;
};

#ifdef __CUDACC__
/// The same with a stream and a CUDA graph.
struct CudaReplays {
  using Executor = CudaExecutor;
  static bool available() { return device_count() > 0; }
  [[nodiscard]] Executor executor() { return CudaExecutor{stream_}; }
  template <class Queue>
  void capture(Queue&& queue) {
    graph_.emplace(stream_, queue);
  }
  void replay() { graph_->replay(); }

 private:
  Stream stream_;
  std::optional<Graph> graph_;
};
#define REPLAYS HostReplays, CudaReplays
#else
#define REPLAYS HostReplays
#endif

#define NEEDS_REPLAYS(R) \
  if (!R::available()) MEZZO_SKIP("no CUDA device")

enum class Form { step, unscale_and_clip };

/// Everything a run leaves behind.
struct Snapshot {
  LossScaleState scaler;
  OptimizerState optimizer;
  std::uint64_t norm = 0;  // its bits: after an overflow it may be a NaN, which equals nothing and whose payload is free
  std::vector<std::uint16_t> weights;
  std::vector<std::uint32_t> bias, masters, moments, bias_gradients;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

constexpr std::uint64_t low_size = 1003, wide_size = 21, batch_size = low_size + wide_size;
constexpr LossScaleConfig config{.init_scale = 0x1p10f, .growth_factor = 3.f, .backoff_factor = .3f, .growth_interval = 5, .hysteresis = 2};

/// A small model with parameters of both types, one scaler and one optimizer.
template <Executor E, LossScaleConfig Config = config>
class Training {
 public:
  Training(const E& executor, Form form)
      : executor_(executor),
        form_(form),
        batch_(executor, batch_size),
        loss_(executor, {1.f, -1.f, .5f, 2.f, 1.5f, -.25f, 1.f, 1.f}),
        loss_gradient_(executor, 8),
        weights_(executor, first_weights(), 3),
        gradients_(executor, std::vector<float16>(low_size), 5),
        bias_(executor, std::vector<float>(wide_size, .5f), 1),
        bias_gradients_(executor, wide_size),
        scaler_(executor),
        optimizer_(executor,
                   {{weights_.span().first(800), gradients_.span().first(800)},
                    {weights_.span().subspan(800), gradients_.span().subspan(800)},
                    {.model = bias_, .gradient = bias_gradients_, .group = 1}},
                   {AdamW::Options{.lr = 1e-2f, .weight_decay = .1f}, AdamW::Options{.lr = 3e-3f, .weight_decay = 0.f}}) {
    optimizer_.set_schedule(cosine_schedule(600, 20, .01));
  }

  void set_batch(const float* batch) { executor_.copy(batch_.data(), batch, batch_size * sizeof(float)); }

  /// One iteration, as a user writes it. Nothing in it waits.
  void iterate() {
    scaler_.scale(loss_, loss_gradient_);
    for_each_index(executor_, batch_size,
                   Backward{batch_.data(), loss_gradient_.data(), weights_.data(), gradients_.data(), bias_gradients_.data(), low_size});
    if (form_ == Form::unscale_and_clip) {
      scaler_.unscale(optimizer_);
      clip_grad_norm(scaler_, optimizer_, 5.f);
    }
    scaler_.step(optimizer_);
    scaler_.update();
    if (form_ == Form::unscale_and_clip) optimizer_.zero_grad();
  }

  [[nodiscard]] Snapshot snapshot() const {
    Snapshot s;
    s.scaler = scaler_.state();
    s.optimizer = optimizer_.state();
    const double norm = std::exchange(s.optimizer.gradient_norm, 0);
    s.norm = to_bits(is_nan(norm) ? element_limits<double>::quiet_nan() : norm);
    s.weights = bits_of(weights_.read());
    s.bias = bits_of(bias_.read());
    s.bias_gradients = bits_of(bias_gradients_.read());
    for (std::size_t i = 0; i < optimizer_.size(); ++i) {
      append(s.masters, optimizer_.master(i));
      append(s.moments, optimizer_.moment(i, 0));
      append(s.moments, optimizer_.moment(i, 1));
    }
    return s;
  }

  auto& optimizer() { return optimizer_; }
  auto& scaler() { return scaler_; }

 private:
  static std::vector<float16> first_weights() {
    std::vector<float16> weights;
    for (std::uint64_t i = 0; i < low_size; ++i) weights.push_back(convert<float16>(.01f * static_cast<float>(i % 97) - .5f));
    return weights;
  }
  void append(std::vector<std::uint32_t>& bits, Span<float> span) const {
    const std::size_t before = bits.size();
    bits.resize(before + span.size());
    executor_.copy(bits.data() + before, span.data(), span.size() * sizeof(float));
    executor_.wait();
  }

  E executor_;
  Form form_;
  Buffer<float> batch_, loss_;
  Buffer<float16> loss_gradient_, weights_, gradients_;
  Buffer<float> bias_, bias_gradients_;
  DynamicLossScaler<Config> scaler_;
  MasterOptimizer<AdamW, float16> optimizer_;
};

/// [steps * batch_size] batches; every fifth or so holds a value that is not finite.
std::vector<float> batches(int steps) {
  std::mt19937 random(11);
  std::vector<float> all(static_cast<std::size_t>(steps) * batch_size);
  for (float& x : all) x = static_cast<float>(random() % 2001) * 1e-3f - 1.f;
  for (int step = 0; step < steps; ++step) {
    if (random() % 5 != 0) continue;
    float& victim = all[static_cast<std::size_t>(step) * batch_size + random() % batch_size];
    victim = random() % 2 == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  return all;
}

TEST_CASE_TEMPLATE("a_thousand_replays_of_one_captured_step_equal_the_eager_run", Replays, REPLAYS) {
  NEEDS_REPLAYS(Replays);
  constexpr int steps = 1000;
  for (const Form form : {Form::step, Form::unscale_and_clip}) {
    CAPTURE(static_cast<int>(form));
    Replays eagerly, captured;
    const Buffer<float> inputs(eagerly.executor(), batches(steps));

    Training<typename Replays::Executor> eager(eagerly.executor(), form), replayed(captured.executor(), form);
    CHECK(eager.snapshot() == replayed.snapshot());
    std::vector<Snapshot> wanted;
    for (int step = 0; step < steps; ++step) {
      eager.set_batch(inputs.data() + static_cast<std::size_t>(step) * batch_size);
      eager.iterate();
      if (step % 50 == 49) wanted.push_back(eager.snapshot());
    }
    const Snapshot& last = wanted.back();
    CHECK(last.optimizer.applied_steps + last.optimizer.skipped_steps == steps);
    CHECK(last.optimizer.applied_steps > 600);  // beyond the end of the schedule
    CHECK(last.optimizer.skipped_steps > 150);
    CHECK(last.scaler.skipped_steps == last.optimizer.skipped_steps);
    CHECK(last.weights != wanted.front().weights);

    captured.capture([&] { replayed.iterate(); });
    for (int step = 0; step < steps; ++step) {
      replayed.set_batch(inputs.data() + static_cast<std::size_t>(step) * batch_size);
      captured.replay();
      if (step % 50 == 49) REQUIRE(replayed.snapshot() == wanted[static_cast<std::size_t>(step / 50)]);
    }
  }
}

#ifdef __CUDACC__
TEST_CASE("replays_on_the_device_leave_the_bits_of_an_eager_run_on_the_host") {
  MEZZO_NEEDS_DEVICE();
  constexpr int steps = 200;
  const std::vector<float> inputs = batches(steps);
  HostReplays eagerly;
  CudaReplays captured;
  const Buffer<float> on_device(captured.executor(), inputs);
  Training<RecordingExecutor> host(eagerly.executor(), Form::unscale_and_clip);
  Training<CudaExecutor> device(captured.executor(), Form::unscale_and_clip);
  captured.capture([&] { device.iterate(); });
  for (int step = 0; step < steps; ++step) {
    CAPTURE(step);
    host.set_batch(inputs.data() + static_cast<std::size_t>(step) * batch_size);
    host.iterate();
    device.set_batch(on_device.data() + static_cast<std::size_t>(step) * batch_size);
    captured.replay();
    REQUIRE(device.snapshot() == host.snapshot());
  }
}

TEST_CASE("the_first_thing_that_a_program_does_may_be_a_capture") {
  MEZZO_NEEDS_DEVICE();
  // Float moments of another type: kernels that nothing in this program has launched, so none is loaded yet.
  CudaReplays replays;
  const CudaExecutor executor = replays.executor();
  const Buffer<bfloat16> weights(executor, std::vector<bfloat16>(100, convert<bfloat16>(1.f)));
  const Buffer<bfloat16> gradients(executor, std::vector<bfloat16>(100, convert<bfloat16>(1.f)));
  NoLossScaler::with<Check::skip_nonfinite> scaler{executor};
  MasterOptimizer<Sgd, bfloat16> optimizer{executor, {{weights, gradients}}, Sgd::Options{.lr = .25f}};
  replays.capture([&] {
    scaler.step(optimizer);
    scaler.update();
  });
  replays.replay();
  replays.replay();
  CHECK(bits_of(weights.read()) == bits_of(std::vector<bfloat16>(100, convert<bfloat16>(.5f))));
}
#endif

TEST_CASE_TEMPLATE("a_learning_rate_set_between_replays_counts_from_the_next_one", Replays, REPLAYS) {
  NEEDS_REPLAYS(Replays);
  const auto run = [](bool capture) {
    Replays replays;
    const Buffer<float> input(replays.executor(), batches(1));
    Training<typename Replays::Executor> training(replays.executor(), Form::step);
    training.set_batch(input.data());
    if (capture) replays.capture([&] { training.iterate(); });
    for (int step = 0; step < 6; ++step) {
      if (step == 3) training.optimizer().set_learning_rate(1e-4f);
      if (step == 5) training.optimizer().set_schedule(constant_schedule());
      if (capture) replays.replay();
      else training.iterate();
    }
    return training.snapshot();
  };
  CHECK(run(true) == run(false));
}

TEST_CASE_TEMPLATE("each_replay_decides_anew_whether_to_skip", Replays, REPLAYS) {
  NEEDS_REPLAYS(Replays);
  Replays replays;
  const auto executor = replays.executor();
  std::vector<float> input(batch_size, .5f);
  const Buffer<float> clean(executor, input);
  input[batch_size - 1] = std::numeric_limits<float>::infinity();
  const Buffer<float> overflowing(executor, input);
  Training<typename Replays::Executor> training(executor, Form::step);
  replays.capture([&] { training.iterate(); });
  for (int round = 0; round < 5; ++round) {
    const Snapshot before = training.snapshot();
    training.set_batch(overflowing.data());
    replays.replay();
    const Snapshot skipped = training.snapshot();
    CHECK(skipped.weights == before.weights);
    CHECK(skipped.masters == before.masters);
    CHECK(skipped.moments == before.moments);
    CHECK(skipped.bias == before.bias);
    CHECK(skipped.optimizer.applied_steps == before.optimizer.applied_steps);
    CHECK(skipped.optimizer.skipped_steps == before.optimizer.skipped_steps + 1);
    training.set_batch(clean.data());
    replays.replay();
    const Snapshot applied = training.snapshot();
    CHECK(applied.masters != before.masters);
    CHECK(applied.moments != before.moments);
    CHECK(applied.optimizer.applied_steps == before.optimizer.applied_steps + 1);
  }
}

TEST_CASE_TEMPLATE("what_reads_the_model_in_a_graph_sees_the_weights_of_the_last_replay", Replays, REPLAYS) {
  NEEDS_REPLAYS(Replays);
  Replays replays;
  const auto executor = replays.executor();
  const Buffer<float16> weight(executor, std::vector{convert<float16>(1.f)});
  const Buffer<float16> gradient(executor, std::vector{convert<float16>(-1.f)});
  const Buffer<float> output(executor, 1);
  NoLossScaler scaler{executor};
  MasterOptimizer<Sgd, float16> optimizer{executor, {{weight, gradient}}, Sgd::Options{.lr = 1.f}};
  replays.capture([&] {
    run_once(executor, Double{weight.data(), output.data()});
    scaler.step(optimizer);
    scaler.update();
  });
  for (const float wanted : {2.f, 4.f, 6.f}) {
    replays.replay();
    CHECK(output.read() == std::vector<float>{wanted});
  }
}

TEST_CASE_TEMPLATE("the_scale_stays_finite_however_long_a_run_is_clean", Replays, REPLAYS) {
  NEEDS_REPLAYS(Replays);
  Replays replays;
  const auto executor = replays.executor();
  constexpr LossScaleConfig eager_to_grow{.growth_interval = 1};
  DynamicLossScaler<eager_to_grow> scaler{executor};
  const Buffer<float> weight(executor, std::vector{1.f});
  Buffer<float> gradient(executor, std::vector{1.f});
  MasterOptimizer<Sgd, float> optimizer{executor, {{weight, gradient}}, Sgd::Options{.lr = 0.f}};
  replays.capture([&] {
    scaler.step(optimizer);
    scaler.update();
  });
  for (int step = 0; step < 200; ++step) replays.replay();
  CHECK(scaler.state().scale == 0x1p126f);
  CHECK(scaler.state().applied_steps == 200);
  gradient.write({std::numeric_limits<float>::infinity()});
  replays.replay();
  CHECK(scaler.state().scale == 0x1p125f);
}

TEST_CASE_TEMPLATE("a_million_replays_with_random_overflows_leave_the_state_that_the_update_rule_says" * doctest::test_suite("nightly"),
                   Replays, REPLAYS) {
  NEEDS_REPLAYS(Replays);
  Replays replays;
  const auto executor = replays.executor();
  constexpr LossScaleConfig lively{.init_scale = 1024.f, .growth_interval = 3, .hysteresis = 2, .min_scale = 1.f, .max_scale = 0x1p15f};
  DynamicLossScaler<lively> scaler{executor};
  const Buffer<float16> weight(executor, std::vector{convert<float16>(1.f)}), gradient(executor, 1);
  const Buffer<std::uint64_t> step(executor, 1);
  MasterOptimizer<AdamW, float16> optimizer{executor, {{weight, gradient}}, AdamW::Options{.lr = 1e-5f}};
  replays.capture([&] {
    run_once(executor, NextGradient{step.data(), gradient.data()});
    scaler.step(optimizer);
    scaler.update();
  });
  LossScaleState wanted{.scale = lively.init_scale};
  for (std::uint64_t now = 1; now <= 1'000'000; ++now) {
    replays.replay();
    wanted = updated(wanted, lively, graph_test::overflows(now));
    if (now % 20'000 != 0) continue;
    REQUIRE(scaler.state() == wanted);
    REQUIRE(optimizer.state().applied_steps == wanted.applied_steps);
    REQUIRE(optimizer.state().skipped_steps == wanted.skipped_steps);
    REQUIRE(is_finite(weight.read()[0]));
  }
}

}  // namespace
