// What a step queues: how many launches, on which stream, and that no call waits for the device.
#include <chrono>
#include <thread>

#include <mezzo/mezzo.cuh>

#include "device/device.cuh"

namespace {

using namespace mezzo;
using namespace mezzo::test;

using Optimizer = MasterOptimizer<Sgd, float16>;

// All arguments of a kernel fit the 4 KB that every device and driver takes.
static_assert(sizeof(multi_tensor::TableView<8>) + 512 < 4096);

/// `count` parameters of the given length with all their memory: weights 1, gradients of the value given.
struct Model {
  DeviceArray<float16> weights, gradients;
  std::vector<Optimizer::Parameter> parameters;

  Model(const std::vector<std::size_t>& lengths, float gradient)
      : weights(std::vector<float16>(total(lengths), convert<float16>(1.f))),
        gradients(std::vector<float16>(total(lengths), convert<float16>(gradient))) {
    std::size_t at = 0;
    for (const std::size_t length : lengths) {
      parameters.push_back({weights.span().subspan(at, length), gradients.span().subspan(at, length)});
      at += length;
    }
  }
  static std::size_t total(const std::vector<std::size_t>& lengths) {
    std::size_t sum = 0;
    for (const std::size_t length : lengths) sum += length;
    return sum;
  }
  [[nodiscard]] bool all_weights_are(float value) const {
    for (const float16 weight : weights.read()) {
      if (to_bits(weight) != to_bits(convert<float16>(value))) return false;
    }
    return true;
  }
};

TEST_CASE("a_step_is_two_launches_whatever_the_number_of_parameters") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{62}, std::size_t{4096}}) {
    CAPTURE(count);
    const Model model(std::vector<std::size_t>(count, 64), 0.f);
    Optimizer optimizer{executor, model.parameters, Sgd::Options{}};
    DynamicLossScaler<> scaler{executor};
    CHECK(Graph(stream, [&] { scaler.step(optimizer); }).kernels() == 2);
    CHECK(Graph(stream, [&] { scaler.update(); }).kernels() == 1);
    CHECK(Graph(stream, [&] { optimizer.zero_grad(); }).kernels() == (count != 0 ? 1 : 0));
    // The check that unscale or clipping made is not made again.
    CHECK(Graph(stream, [&] { scaler.unscale(optimizer); }).kernels() == 1);
    CHECK(Graph(stream, [&] { scaler.step(optimizer); }).kernels() == 1);
    scaler.update();
    CHECK(Graph(stream, [&] { clip_grad_norm(scaler, optimizer, 1.f); }).kernels() == 1);
    CHECK(Graph(stream, [&] { scaler.step(optimizer); }).kernels() == 1);
    scaler.update();
    stream.wait();
  }
}

TEST_CASE("no_loss_scaler_adds_no_launch") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  const Model model({100, 0, 7}, 0.f);
  Optimizer optimizer{executor, model.parameters, Sgd::Options{}};
  NoLossScaler scaler{executor};
  const std::size_t alone = Graph(stream, [&] { optimizer.step(); }).kernels();
  CHECK(Graph(stream, [&] {
          scaler.step(optimizer);
          scaler.update();
        }).kernels() == alone);
}

TEST_CASE("a_joint_step_of_two_optimizers_is_four_launches") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  const Model first({100, 7}, 0.f), second({64}, 0.f);
  Optimizer a{executor, first.parameters, Sgd::Options{}}, b{executor, second.parameters, Sgd::Options{}};
  DynamicLossScaler<> scaler{executor};
  CHECK(Graph(stream, [&] { scaler.step(a, b); }).kernels() == 4);
}

// nvcc prints float template arguments with six digits, so a kernel that depended on a configuration could not be found, or
// would be another configuration's: 2^-126 is 1.17549e-38 in print, and the two below look alike.
TEST_CASE("the_default_configuration_whose_limits_have_no_short_decimal_launches") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const Model model({1000, 3}, 65536.f * .25f);
  Optimizer optimizer{executor, model.parameters, Sgd::Options{.lr = 1.f}};
  DynamicLossScaler<> scaler{executor};
  scaler.step(optimizer);
  scaler.update();
  CHECK(scaler.state() == LossScaleState{.scale = 65536.f, .growth_tracker = 1, .applied_steps = 1});
  CHECK(model.all_weights_are(.75f));
}

constexpr LossScaleConfig one_config{.init_scale = 1000.0001f, .backoff_factor = .25f};
constexpr LossScaleConfig like_it{.init_scale = 1000.0002f, .backoff_factor = .125f};
static_assert(one_config.init_scale != like_it.init_scale);

TEST_CASE("two_configurations_that_print_alike_stay_apart") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  DynamicLossScaler<one_config> first{executor};
  DynamicLossScaler<like_it> second{executor};
  CHECK(first.state().scale == one_config.init_scale);
  CHECK(second.state().scale == like_it.init_scale);
  const Model model({1}, std::numeric_limits<float>::infinity());
  Optimizer optimizer{executor, model.parameters, Sgd::Options{}};
  first.step(optimizer);
  first.update();
  second.step(optimizer);
  second.update();
  CHECK(first.state().scale == one_config.init_scale * .25f);
  CHECK(second.state().scale == like_it.init_scale * .125f);
}

TEST_CASE("a_hundred_thousand_spans_of_1_to_64_elements_and_a_giant_among_them_are_all_updated_in_two_launches") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < 100'000; ++i) lengths.push_back(i == 77'777 ? 10'000'019 : i % 7 == 6 ? 0 : 1 + i * 31 % 64);
  const Model model(lengths, 4096.f * .5f);
  Optimizer optimizer{executor, model.parameters, Sgd::Options{.lr = 1.f}};
  StaticLossScaler<4096.f> scaler{executor};
  const Graph graph(stream, [&] { scaler.step(optimizer); });
  CHECK(graph.kernels() == 2);
  graph.replay();
  stream.wait();
  CHECK(model.all_weights_are(.5f));
  optimizer.zero_grad();
  stream.wait();
  CHECK(model.gradients.read().size() == Model::total(lengths));
  bool zero = true;
  for (const float16 gradient : model.gradients.read()) zero = zero && to_bits(gradient) == 0;
  CHECK(zero);
  CHECK(optimizer.state().applied_steps == 1);
}

TEST_CASE("one_flag_is_set_when_every_gradient_of_many_blocks_overflows_at_once") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const Model model({40'000'000, 5, 3000}, -std::numeric_limits<float>::infinity());
  Optimizer optimizer{executor, model.parameters, Sgd::Options{.lr = 1.f}};
  DynamicLossScaler<> scaler{executor};
  for (int step = 0; step < 5; ++step) {
    scaler.step(optimizer);
    scaler.update();
  }
  CHECK(scaler.state() == LossScaleState{.scale = 2048.f, .consecutive_skips = 5, .skipped_steps = 5});
  CHECK(optimizer.state().skipped_steps == 5);
  CHECK(model.all_weights_are(1.f));
}

TEST_CASE("memory_that_held_other_values_before_leaves_no_trace_also_when_the_first_step_overflows") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  for (const bool lent : {false, true}) {
    CAPTURE(lent);
    const Model model({1, 700}, std::numeric_limits<float>::infinity());
    // All bits set is a NaN, and a counter far beyond any run.
    const DeviceArray<std::byte> storage(std::vector<std::byte>(1 << 16, std::byte{0xff}));
    const DeviceArray<std::byte> scaler_storage(std::vector<std::byte>(DynamicLossScaler<>::storage_bytes(), std::byte{0xff}));
    REQUIRE(Optimizer::storage_bytes(model.parameters) <= storage.size());
    void* const freed = executor.allocate(1 << 20);  // what the executor gives out next was this
    executor.fill(freed, std::byte{0xff}, 1 << 20);
    executor.deallocate(freed, 1 << 20);

    const Sgd::Options options{.lr = .1f, .momentum = .9f};
    DynamicLossScaler<> scaler = lent ? DynamicLossScaler<>{executor, scaler_storage.span()} : DynamicLossScaler<>{executor};
    Optimizer optimizer = lent ? Optimizer{executor, model.parameters, options, storage.span()} : Optimizer{executor, model.parameters, options};
    scaler.step(optimizer);
    scaler.update();
    stream.wait();
    CHECK(model.all_weights_are(1.f));
    model.gradients.write(std::vector<float16>(model.gradients.size(), convert<float16>(32768.f)));
    scaler.step(optimizer);
    scaler.update();
    CHECK(optimizer.state().applied_steps == 1);
    CHECK(optimizer.state().skipped_steps == 1);
    CHECK(scaler.state() == LossScaleState{.scale = 32768.f, .growth_tracker = 1, .applied_steps = 1, .skipped_steps = 1});
    for (std::size_t i = 0; i < optimizer.size(); ++i) {
      std::vector<float> values(optimizer.master(i).size());
      executor.copy(values.data(), optimizer.master(i).data(), values.size() * sizeof(float));
      executor.wait();
      CHECK(values == std::vector<float>(values.size(), .9f));
      executor.copy(values.data(), optimizer.moment(i, 0).data(), values.size() * sizeof(float));
      executor.wait();
      CHECK(values == std::vector<float>(values.size(), 1.f));
    }
  }
}

struct ReportFromMany {
  LossScaleView view;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t) const { view.report_overflow(); }
};

TEST_CASE("an_overflow_that_many_threads_of_the_users_report_skips_the_step_once_and_is_cleared_by_update") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const Model model({100}, 0.f);
  Optimizer optimizer{executor, model.parameters, Sgd::Options{}};
  DynamicLossScaler<> scaler{executor};
  for_each_index(executor, 100'000, ReportFromMany{scaler.device_view()});
  scaler.step(optimizer);
  scaler.update();
  CHECK(scaler.state().skipped_steps == 1);
  scaler.step(optimizer);
  scaler.update();
  CHECK(scaler.state() == LossScaleState{.scale = 32768.f, .growth_tracker = 1, .applied_steps = 1, .skipped_steps = 1});
}

// -- streams ----------------------------------------------------------------------------------------------------------------

/// Spins until the host says go, or until it has waited so long that the host must be waiting for it.
__global__ void hold(const volatile int* go, int* released) {
  const long long start = clock64();
  while (*go == 0) {
    if (clock64() - start > 20'000'000'000LL) return;  // about 10 s
  }
  *released = 1;
}

/// Keeps a stream busy until `release`.
class Held {
 public:
  explicit Held(cudaStream_t stream) : stream_(stream) {
    MEZZO_CUDA(cudaMallocHost(&flags_, 2 * sizeof(int)));
    flags_[0] = flags_[1] = 0;
    hold<<<1, 1, 0, stream>>>(flags_, flags_ + 1);
    MEZZO_CUDA(cudaGetLastError());
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    release();
    static_cast<void>(cudaFreeHost(flags_));
  }
  /// True when the stream was still held: nothing before had waited for it.
  bool release() {
    static_cast<volatile int*>(flags_)[0] = 1;
    MEZZO_CUDA(cudaStreamSynchronize(stream_));
    return flags_[1] == 1;
  }

 private:
  cudaStream_t stream_;
  int* flags_ = nullptr;
};

TEST_CASE("no_call_of_a_training_step_waits_for_the_device") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  const Model model({5000, 12}, 65536.f * .25f);
  const DeviceArray<float> bias(std::vector<float>(9, 1.f)), bias_gradients(std::vector<float>(9, 65536.f * .25f));
  std::vector<Optimizer::Parameter> parameters = model.parameters;
  parameters.push_back({bias, bias_gradients});
  Optimizer optimizer{executor, parameters, Sgd::Options{.lr = 1.f}};
  DynamicLossScaler<> scaler{executor};
  const DeviceArray<float> loss(std::vector<float>(3, 1.f));
  const DeviceArray<float16> scaled(3);
  LossScaleState* state = nullptr;
  MEZZO_CUDA(cudaMallocHost(&state, sizeof(LossScaleState)));
  *state = {};
  const auto iterate = [&] {
    scaler.scale(loss, scaled);
    scaler.unscale(optimizer);
    clip_grad_norm(scaler, optimizer, 1e6f);
    scaler.step(optimizer);
    scaler.update();
    scaler.state_async(state);
    optimizer.zero_grad();
    scaler.step(optimizer);
    scaler.update();
    optimizer.step();
    optimizer.set_learning_rate(1.f);
    optimizer.set_schedule(constant_schedule());
    optimizer.load_state({});
    scaler.load_state({.scale = 65536.f});
    scaler.reset();
  };
  iterate();  // the first launch of a kernel may load it, and that may wait
  stream.wait();
  CHECK(model.all_weights_are(.75f));
  model.gradients.write(std::vector<float16>(model.gradients.size(), convert<float16>(65536.f * .25f)));
  *state = {};
  {
    Held held(stream);
    iterate();
    CHECK(*state == LossScaleState{});  // the copy is queued, not done: no torn or early value
    CHECK(held.release());
  }
  CHECK(*state == LossScaleState{.scale = 65536.f, .growth_tracker = 1, .applied_steps = 1});
  CHECK(model.all_weights_are(.5f));
  MEZZO_CUDA(cudaFreeHost(state));
}

TEST_CASE("state_is_the_one_after_everything_queued_before") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  DynamicLossScaler<> scaler{executor};
  scaler.assume_checked();
  scaler.update();  // warm-up
  stream.wait();
  int* flags = nullptr;
  MEZZO_CUDA(cudaMallocHost(&flags, 2 * sizeof(int)));
  flags[0] = flags[1] = 0;
  hold<<<1, 1, 0, stream>>>(flags, flags + 1);
  scaler.assume_checked();
  scaler.update();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    static_cast<volatile int*>(flags)[0] = 1;
  });
  CHECK(scaler.state().growth_tracker == 2);
  later.join();
  CHECK(flags[1] == 1);
  MEZZO_CUDA(cudaFreeHost(flags));
}

TEST_CASE("gradients_of_another_stream_are_right_with_an_event_between") {
  MEZZO_NEEDS_DEVICE();
  const Stream producer, consumer;
  const CudaExecutor executor{consumer};
  const Model model({300'000, 17}, 0.f);
  Optimizer optimizer{executor, model.parameters, Sgd::Options{.lr = 1.f}};
  StaticLossScaler<1024.f> scaler{executor};
  const DeviceArray<float16> made(std::vector<float16>(model.gradients.size(), convert<float16>(1024.f * .5f)));
  scaler.step(optimizer);  // loads the kernels
  scaler.update();
  consumer.wait();
  cudaEvent_t ready = nullptr;
  MEZZO_CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  {
    Held held(producer);
    MEZZO_CUDA(cudaMemcpyAsync(model.gradients.data(), made.data(), made.bytes(), cudaMemcpyDeviceToDevice, producer));
    MEZZO_CUDA(cudaEventRecord(ready, producer));
    MEZZO_CUDA(cudaStreamWaitEvent(consumer, ready, 0));
    scaler.step(optimizer);
    scaler.update();
    CHECK(held.release());
  }
  consumer.wait();
  CHECK(model.all_weights_are(.5f));
  MEZZO_CUDA(cudaEventDestroy(ready));
}

TEST_CASE("two_host_threads_with_a_scaler_and_a_stream_each_do_not_meet") {
  MEZZO_NEEDS_DEVICE();
  constexpr int steps = 200;
  bool right[2] = {false, false};
  const auto train = [&right](int which) {
    const Stream stream;
    const CudaExecutor executor{stream};
    // Thread 0 overflows in every third step, thread 1 in none.
    const Model model({3000, 5, 0, 900}, 0.f);
    const DeviceArray<float16> clean(std::vector<float16>(model.gradients.size(), convert<float16>(0.f)));
    std::vector<float16> values(model.gradients.size(), convert<float16>(0.f));
    values.back() = convert<float16>(std::numeric_limits<float>::infinity());
    const DeviceArray<float16> overflowing(values);
    Optimizer optimizer{executor, model.parameters, Sgd::Options{.lr = 1.f}};
    DynamicLossScaler<LossScaleConfig{.growth_interval = 2}> scaler{executor};
    LossScaleState wanted{.scale = 65536.f};
    bool same = true;
    for (int step = 0; step < steps; ++step) {
      const bool overflow = which == 0 && step % 3 == 0;
      executor.copy(model.gradients.data(), overflow ? overflowing.data() : clean.data(), clean.bytes());
      scaler.step(optimizer);
      scaler.update();
      wanted = updated(wanted, scaler.config(), overflow);
      same = same && scaler.state() == wanted;
    }
    right[which] = same;
  };
  std::thread first(train, 0), second(train, 1);
  first.join();
  second.join();
  CHECK(right[0]);
  CHECK(right[1]);
}

}  // namespace
