// Every call of the CUDA runtime that the library makes fails once, at its nth time: nothing leaks, no state is lost.
// The linker sends the calls through here (--wrap, CMakeLists.txt).
#include <map>
#include <string>

#include <mezzo/mezzo.cuh>

#include "device/device.cuh"
#include "support/message.hpp"

namespace {

/// What shall fail: the nth call of one function from now; 0: none.
struct Fault {
  std::string call;
  int countdown = 0;
};
Fault fault;
std::map<std::string, int> calls;  // since the last reset
int live_allocations = 0;

bool fails(const char* call) {
  ++calls[call];
  return fault.call == call && fault.countdown > 0 && --fault.countdown == 0;
}

}  // namespace

extern "C" {
cudaError_t __real_cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  if (fails("cudaMallocAsync")) return cudaErrorMemoryAllocation;
  const cudaError_t error = __real_cudaMallocAsync(pointer, bytes, stream);
  if (error == cudaSuccess) ++live_allocations;
  return error;
}
cudaError_t __real_cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t __wrap_cudaFreeAsync(void* pointer, cudaStream_t stream) {
  --live_allocations;
  return __real_cudaFreeAsync(pointer, stream);
}
cudaError_t __real_cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return fails("cudaMemcpyAsync") ? cudaErrorInvalidValue : __real_cudaMemcpyAsync(to, from, bytes, kind, stream);
}
cudaError_t __real_cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return fails("cudaMemsetAsync") ? cudaErrorInvalidValue : __real_cudaMemsetAsync(to, value, bytes, stream);
}
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  return fails("cudaLaunchKernelExC") ? cudaErrorLaunchOutOfResources : __real_cudaLaunchKernelExC(config, kernel, arguments);
}
}

namespace {

using namespace mezzo;
using namespace mezzo::test;

using Optimizer = MasterOptimizer<Sgd, float16>;

/// A scaler and an optimizer over parameters of all kinds: own master, given master, float.
struct Training {
  DeviceArray<float16> weights{std::vector<float16>(600, convert<float16>(1.f))};
  DeviceArray<float16> gradients{std::vector<float16>(600, convert<float16>(16384.f))};
  DeviceArray<float> master{std::vector<float>(100, 1.f)};
  DeviceArray<float> bias{std::vector<float>(9, 1.f)}, bias_gradients{std::vector<float>(9, 16384.f)};
  Stream stream;
  CudaExecutor executor{stream};
  DynamicLossScaler<> scaler{executor};
  Optimizer optimizer{executor,
                      {{weights.span().first(500), gradients.span().first(500)},
                       {.model = weights.span().subspan(500), .gradient = gradients.span().subspan(500), .master = master},
                       {bias, bias_gradients}},
                      Sgd::Options{.lr = .5f, .momentum = .9f}};

  struct Result {
    LossScaleState scaler;
    OptimizerState optimizer;
    std::vector<std::uint16_t> weights, gradients;
    std::vector<float> master, bias, bias_gradients;
    friend bool operator==(const Result&, const Result&) = default;
  };
  [[nodiscard]] Result result() const {
    const auto bits = [](const std::vector<float16>& values) {
      std::vector<std::uint16_t> all;
      for (const float16 value : values) all.push_back(to_bits(value));
      return all;
    };
    return {scaler.state(), optimizer.state(), bits(weights.read()), bits(gradients.read()), master.read(), bias.read(), bias_gradients.read()};
  }
};

TEST_CASE("whichever_call_fails_while_objects_are_built_the_error_names_it_and_nothing_leaks") {
  MEZZO_NEEDS_DEVICE();
  for (const char* const call : {"cudaMallocAsync", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaLaunchKernelExC"}) {
    CAPTURE(std::string(call));
    calls.clear();
    { const Training whole; }
    const int count = calls[call];
    CHECK(count > 0);
    CHECK(live_allocations == 0);
    for (int n = 1; n <= count; ++n) {
      CAPTURE(n);
      fault = {call, n};
      std::string message;
      try {
        const Training training;
      } catch (const OutOfMemory& error) {
        message = error.what();
        CHECK(fault.call == "cudaMallocAsync");
      } catch (const CudaError& error) {
        message = error.what();
        CHECK(fault.call != "cudaMallocAsync");
      }
      INFO(message);
      CHECK(message.find("failures_test.cu:") != std::string::npos);
      const bool launch = fault.call == "cudaLaunchKernelExC";  // which launch it was is said by the name of the work
      CHECK(message.find(launch ? "(cudaErrorLaunchOutOfResources)" : fault.call) != std::string::npos);
      CHECK(live_allocations == 0);
      CHECK(cudaGetLastError() == cudaSuccess);
    }
    fault = {};
    { const Training again; }
    CHECK(live_allocations == 0);
  }
}

TEST_CASE("a_call_whose_launch_failed_can_be_made_again_and_the_run_ends_with_the_same_bits") {
  MEZZO_NEEDS_DEVICE();
  for (const bool unscale_and_clip : {false, true}) {
    const auto iterate = [&](Training& training, int& failures) {
      const auto until_it_works = [&failures](auto&& call) {
        for (int tries = 0; tries < 2; ++tries) {
          try {
            return call();
          } catch (const CudaError&) {
            ++failures;
          }
        }
      };
      for (int step = 0; step < 2; ++step) {
        if (unscale_and_clip) {
          until_it_works([&] { training.scaler.unscale(training.optimizer); });
          until_it_works([&] { clip_grad_norm(training.scaler, training.optimizer, 1.f); });
        }
        until_it_works([&] { training.scaler.step(training.optimizer); });
        until_it_works([&] { training.scaler.update(); });
      }
      until_it_works([&] { training.optimizer.zero_grad(); });
      until_it_works([&] { training.optimizer.set_learning_rate(.25f); });
      until_it_works([&] { training.optimizer.step(); });
    };
    Training undisturbed;
    calls.clear();
    int failures = 0;
    iterate(undisturbed, failures);
    CHECK(failures == 0);
    const int launches = calls["cudaLaunchKernelExC"];
    CHECK(launches >= 10);
    for (int n = 1; n <= launches; ++n) {
      CAPTURE(n);
      Training disturbed;
      failures = 0;
      fault = {"cudaLaunchKernelExC", n};
      iterate(disturbed, failures);
      CHECK(failures == 1);
      CHECK(disturbed.result() == undisturbed.result());
    }
  }
}

TEST_CASE("a_step_whose_check_was_not_launched_changes_nothing") {
  MEZZO_NEEDS_DEVICE();
  Training training;
  const Training::Result before = training.result();
  fault = {"cudaLaunchKernelExC", 1};
  std::string message;
  try {
    training.scaler.step(training.optimizer);
  } catch (const CudaError& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(message.find("failures_test.cu:") != std::string::npos);
  CHECK(message.find(": reduce_elements: ") != std::string::npos);
  CHECK(training.result() == before);
}

TEST_CASE("a_scaler_on_the_host_and_an_optimizer_on_the_device_are_refused_and_the_other_way_round") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor device{stream};
  const HostExecutor host;
  std::vector<float> w{1.f}, g{1.f};
  const DeviceArray<float> weights(1), gradients(1);
  DynamicLossScaler<> on_host{host}, on_device{device};
  MasterOptimizer<Sgd, float> of_host{host, {{w, g}}}, of_device{device, {{Span<float>(weights.data(), 1), Span<float>(gradients.data(), 1)}}};
  const std::string refusal = "step: scaler and optimizer must be on executors of one kind and one device";
  CHECK(MEZZO_REFUSAL(InvalidArgument, on_host.step(of_device)) == refusal);
  CHECK(MEZZO_REFUSAL(InvalidArgument, on_device.step(of_host)) == refusal);
  device.wait();
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("reading_a_state_that_failed_once_works_the_next_time") {
  MEZZO_NEEDS_DEVICE();
  Training training;
  fault = {"cudaMemcpyAsync", 1};
  CHECK_THROWS_AS(static_cast<void>(training.scaler.state()), CudaError);
  CHECK(training.scaler.state().scale == 65536.f);
  fault = {"cudaMemcpyAsync", 1};
  CHECK_THROWS_AS(static_cast<void>(training.optimizer.state()), CudaError);
  CHECK(training.optimizer.state().applied_steps == 0);
}

}  // namespace
