#pragma once
// A model on the device with its optimizer and scaler, ready to step.

#include "support/device.cuh"
#include "support/models.hpp"

namespace mezzo::bench {

/// Bytes that a step must move for each element, with float32 masters and moments and a 16-bit model.
template <class Rule>
struct StepBytes;
template <>
struct StepBytes<AdamW> {
  // Update: reads gradient 2, master 4, m 4, v 4; writes master 4, m 4, v 4, model 2. The check reads the gradient once more.
  static constexpr double update = 28, check = 2;
  // Distinct memory: gradient 2, model 2, master 4, m 4, v 4.
  static constexpr double footprint = 16;
};
template <>
struct StepBytes<Sgd> {
  // Update: reads gradient 2, master 4, momentum 4; writes master 4, momentum 4, model 2. The check: 2 more.
  static constexpr double update = 20, check = 2;
  static constexpr double footprint = 12;
};

template <class Rule>
typename Rule::Options options_of() {
  if constexpr (std::is_same_v<Rule, AdamW>) {
    return AdamW::Options{.lr = 1e-4f, .weight_decay = .01f};
  } else {
    return Sgd::Options{.lr = 1e-3f, .momentum = .9f, .weight_decay = 1e-4f};
  }
}

/// Model and gradients of the low type in memory of ours, every parameter aligned to 256 bytes as by an allocation of its own.
template <class Rule, class Low>
class Training {
  using Optimizer = MasterOptimizer<Rule, Low>;

  static constexpr std::size_t alignment = 256;
  static std::size_t padded(std::size_t size) { return (size * sizeof(Low) + alignment - 1) / alignment * alignment; }
  static std::size_t total(const Model& model) {
    std::size_t bytes = 0;
    for (const std::size_t size : model.sizes) bytes += padded(size);
    return bytes;
  }

 public:
  explicit Training(const Model& model)
      : bytes_(total(model)), weights_(bytes_), gradients_(bytes_), executor_(stream_), scaler(executor_),
        optimizer(executor_, parameters(model), options_of<Rule>()) {}

  /// The low-precision gradients, with one element that is not finite from now on.
  void poison() {
    const Low infinity = convert<Low>(std::numeric_limits<float>::infinity());
    MEZZO_BENCH_CHECK(cudaMemcpyAsync(gradients_.data(), &infinity, sizeof infinity, cudaMemcpyHostToDevice, stream_));
    stream_.wait();
  }
  [[nodiscard]] const Stream& stream() const noexcept { return stream_; }

 private:
  std::vector<typename Optimizer::Parameter> parameters(const Model& model) {
    const std::size_t count = bytes_ / sizeof(Low);
    fill(stream_, reinterpret_cast<Low*>(weights_.data()), count, .05f, 1);
    fill(stream_, reinterpret_cast<Low*>(gradients_.data()), count, 1.f, 2);  // already scaled by the loss scale
    std::vector<typename Optimizer::Parameter> list;
    std::size_t offset = 0;
    for (const std::size_t size : model.sizes) {
      list.push_back({Span<Low>(reinterpret_cast<Low*>(weights_.data() + offset), size),
                      Span<Low>(reinterpret_cast<Low*>(gradients_.data() + offset), size)});
      offset += padded(size);
    }
    return list;
  }

  std::size_t bytes_;
  DeviceMemory weights_;
  DeviceMemory gradients_;
  Stream stream_;
  CudaExecutor executor_;

 public:
  DynamicLossScaler<> scaler;
  Optimizer optimizer;
};

template <class Low>
constexpr const char* type_name = std::is_same_v<Low, float16> ? "float16" : "bfloat16";
template <class Rule>
constexpr const char* rule_name = std::is_same_v<Rule, AdamW> ? "AdamW" : "Sgd";

/// Enough repetitions for a steady median, few enough for the large models.
inline int repetitions_for(const Model& model) {
  const std::size_t n = model.elements();
  return n > 1'000'000'000 ? 30 : n > 50'000'000 ? 100 : 300;
}

/// Times `work` by every clock and writes the figures into the benchmark's counters.
/// @param bytes      that it must move. @param footprint bytes of distinct memory that it touches.
template <class F>
void measure(benchmark::State& state, const Stream& stream, double bytes, double footprint, F&& work) {
  Clock clock(stream);
  for (int i = 0; i < 5; ++i) work();
  stream.wait();
  std::vector<double> times, queued, wall, host;
  for (auto _ : state) {
    times.push_back(clock.events(work));
    state.SetIterationTime(times.back() * 1e-6);
  }
  const std::size_t more = std::max<std::size_t>(10, times.size() / 3);
  for (std::size_t i = 0; i < more; ++i) queued.push_back(clock.queued(work));
  for (std::size_t i = 0; i < more; ++i) wall.push_back(clock.wall(work));
  for (int i = 0; i < 20; ++i) host.push_back(clock.host(work));

  const double copy = machine().copy.best();
  const double rate = bytes / median(times) / 1e6;
  state.counters["median_us"] = median(times);
  state.counters["spread_us"] = quantile(times, .75) - quantile(times, .25);
  state.counters["queued_us"] = median(queued);
  state.counters["wall_us"] = median(wall);
  state.counters["host_us"] = median(host);
  state.counters["bytes"] = bytes;
  state.counters["TBps"] = rate;
  state.counters["share_of_copy"] = rate / copy;
  state.counters["queued_share_of_copy"] = bytes / median(queued) / 1e6 / copy;
  state.SetLabel(machine().residence(footprint));
}

}  // namespace mezzo::bench
