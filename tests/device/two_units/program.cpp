// The half that g++ compiles: it holds scaler and optimizer and trains, with no nvcc in sight.
#include <limits>
#include <vector>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "training.hpp"

namespace {

using namespace mezzo;
using namespace two_units;

/// The same training on an executor of either kind: weights after clean steps, an overflow, and more clean steps.
struct Outcome {
  std::vector<LossScaleState> states;
  std::vector<OptimizerState> steps;
  std::vector<std::uint16_t> weights;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::vector<float16> gradients(float value) { return std::vector<float16>(1000, convert<float16>(value)); }

template <class Write, class Read>
Outcome train(Scaler& scaler, Optimizer& optimizer, Write&& write, Read&& read) {
  Outcome outcome;
  optimizer.set_schedule(cosine_schedule(5));
  for (const float value : {100.f, -50.f, std::numeric_limits<float>::infinity(), 70.f, 3.f}) {
    write(gradients(value));
    scaler.unscale(optimizer);
    clip_grad_norm(scaler, optimizer, 2.f);
    scaler.step(optimizer);
    scaler.update();
    outcome.states.push_back(scaler.state());
    outcome.steps.push_back(optimizer.state());
  }
  optimizer.zero_grad();
  optimizer.set_learning_rate(1e-2f);
  optimizer.step();
  scaler.load_state(scaler.state());
  for (const float16 weight : read()) outcome.weights.push_back(to_bits(weight));
  return outcome;
}

TEST_CASE("a_translation_unit_compiled_by_gcc_trains_with_objects_that_nvcc_constructed") {
  const Device device = open_device();
  if (!device.there) MEZZO_SKIP("no CUDA device");
  const std::vector<float16> first(1000, convert<float16>(1.f));
  const AdamW::Options options{.lr = .1f};

  HostExecutor host;
  std::vector<float16> host_weights = first, host_gradients(1000);
  Scaler host_scaler{host};
  Optimizer host_optimizer{host, {{host_weights, host_gradients}}, options};
  const Outcome wanted = train(
      host_scaler, host_optimizer, [&](const std::vector<float16>& values) { host_gradients = values; }, [&] { return host_weights; });

  const std::size_t bytes = first.size() * sizeof(float16);
  void *weights = nullptr, *device_gradients = nullptr;
  REQUIRE(cudaMalloc(&weights, bytes) == cudaSuccess);
  REQUIRE(cudaMalloc(&device_gradients, bytes) == cudaSuccess);
  REQUIRE(cudaMemcpy(weights, first.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemset(device_gradients, 0, bytes) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  {
    Scaler scaler = make_scaler(device.stream);
    CHECK(scale_seen_by_nvcc(scaler) == config.init_scale);
    Optimizer::Parameter parameter;
    parameter.model = Span<float16>(static_cast<float16*>(weights), first.size());
    parameter.gradient = Span<float16>(static_cast<float16*>(device_gradients), first.size());
    Optimizer made = make_optimizer(device.stream, {parameter}, options);
    Optimizer optimizer = std::move(made);
    const Outcome got = train(
        scaler, optimizer,
        [&](const std::vector<float16>& values) {
          REQUIRE(cudaMemcpyAsync(device_gradients, values.data(), bytes, cudaMemcpyHostToDevice, device.stream) == cudaSuccess);
          REQUIRE(cudaStreamSynchronize(device.stream) == cudaSuccess);
        },
        [&] {
          std::vector<float16> values(first.size());
          REQUIRE(cudaMemcpyAsync(values.data(), weights, bytes, cudaMemcpyDeviceToHost, device.stream) == cudaSuccess);
          REQUIRE(cudaStreamSynchronize(device.stream) == cudaSuccess);
          return values;
        });
    CHECK(got == wanted);
    CHECK(got.states.back().skipped_steps == 1);
    CHECK(got.states.back().applied_steps == 4);
  }
  CHECK(cudaFree(weights) == cudaSuccess);
  CHECK(cudaFree(device_gradients) == cudaSuccess);
  CHECK(cudaStreamDestroy(device.stream) == cudaSuccess);
}

}  // namespace
