// What is CUDA's own about the executor: streams, devices, memory, and whose error is whose.
#include <mezzo/mezzo.cuh>

#include "device/device.cuh"
#include "device/process.hpp"

namespace {

using namespace mezzo;
using namespace mezzo::test;

struct Store {
  int* to;
  int value;
  MEZZO_HOST_DEVICE void operator()() const { *to = value; }
};

struct CountVisits {
  unsigned* visits;
  __device__ void operator()(std::uint64_t i) const { atomicAdd(visits + i, 1U); }
};

__global__ void write_through(int* pointer) { *pointer = 1; }
__global__ void trap() { __trap(); }
__global__ void do_nothing() {}

/// The message of the exception that `call` throws; empty when it throws none or one of another type.
template <class Exception, class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// -- the device ---------------------------------------------------------------------------------------------------------

TEST_CASE("process: no device" * doctest::skip()) {
  const std::string message = message_of<CudaError>([] { static_cast<void>(CudaExecutor{cudaStream_t{nullptr}}); });
  INFO(message);
  CHECK(contains(message, "cuda_test.cu:"));
  CHECK(contains(message, ": cudaGetDevice: "));
  HostExecutor host;
  DynamicLossScaler<> scaler{host};
  CHECK(scaler.state().scale == 65536.f);
}

TEST_CASE("without_a_device_the_constructor_names_the_call_and_the_host_executor_still_works") {
  CHECK(run_alone("process: no device", {"CUDA_VISIBLE_DEVICES="}) == 0);
}

TEST_CASE("a_null_stream_is_the_default_stream_of_the_translation_unit") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  CHECK(executor.stream() == cudaStreamPerThread);
#else
  CHECK(executor.stream() == cudaStreamLegacy);
#endif
  CHECK(executor.device() == 0);
  CHECK(CudaExecutor{cudaStreamPerThread}.stream() == cudaStreamPerThread);
  CHECK(CudaExecutor{cudaStreamLegacy}.stream() == cudaStreamLegacy);
  const Stream stream;
  CHECK(CudaExecutor{stream}.stream() == stream);
}

TEST_CASE("work_of_an_executor_on_another_device_leaves_the_current_device_as_it_was") {
  if (device_count() < 2) MEZZO_SKIP("needs two CUDA devices");
  MEZZO_CUDA(cudaSetDevice(1));
  {
    const Stream stream;
    MEZZO_CUDA(cudaSetDevice(0));
    const CudaExecutor executor{stream};
    CHECK(executor.device() == 1);
    void* const memory = executor.allocate(sizeof(int));
    cudaPointerAttributes attributes{};
    MEZZO_CUDA(cudaPointerGetAttributes(&attributes, memory));
    CHECK(attributes.device == 1);
    CHECK(executor.accessible(memory));
    CHECK_FALSE(CudaExecutor{cudaStreamLegacy}.accessible(memory));
    run_once(executor, Store{static_cast<int*>(memory), 7});
    int value = 0;
    executor.copy(&value, memory, sizeof(value));
    executor.wait();
    CHECK(value == 7);
    executor.deallocate(memory, sizeof(int));
    DynamicLossScaler<> scaler{executor};
    scaler.assume_checked();
    scaler.update();
    CHECK(scaler.state().growth_tracker == 1);
    int current = -1;
    MEZZO_CUDA(cudaGetDevice(&current));
    CHECK(current == 0);
    const DeviceArray<float> elsewhere(8), gradient(8);
    using Optimizer = MasterOptimizer<Sgd, float>;
    CHECK_THROWS_AS((Optimizer{executor, {{elsewhere, gradient}}, Sgd::Options{}}), InvalidArgument);
    MEZZO_CUDA(cudaSetDevice(1));
  }
  MEZZO_CUDA(cudaSetDevice(0));
}

// -- memory and work ---------------------------------------------------------------------------------------------------

TEST_CASE("allocate_copy_fill_and_wait_work_on_the_stream") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  CHECK(executor.allocate(0) == nullptr);
  executor.deallocate(nullptr, 0);
  std::vector<std::byte> bytes(1000, std::byte{3});
  void* const memory = executor.allocate(bytes.size());
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
  executor.fill(memory, std::byte{0x5a}, bytes.size());
  executor.copy(bytes.data(), memory, bytes.size());
  executor.wait();
  CHECK(bytes == std::vector<std::byte>(1000, std::byte{0x5a}));
  executor.deallocate(memory, bytes.size());
  executor.copy(nullptr, nullptr, 0);
  executor.fill(nullptr, std::byte{0}, 0);
  executor.wait();
}

TEST_CASE("for_each_index_visits_every_index_once_also_beyond_the_largest_grid") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{257}, std::size_t{5'000'001}}) {
    const DeviceArray<unsigned> visits(std::vector<unsigned>(count + 1));
    for_each_index(executor, count, CountVisits{visits.data()});
    executor.wait();
    std::vector<unsigned> wanted(count, 1U);
    wanted.push_back(0U);
    CHECK(visits.read() == wanted);
  }
}

TEST_CASE("only_memory_that_the_device_reaches_is_accessible") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const DeviceArray<float> device(4);
  void* const ordered = executor.allocate(64);
  float* managed = nullptr;
  float* pinned = nullptr;
  MEZZO_CUDA(cudaMallocManaged(&managed, 64));
  MEZZO_CUDA(cudaMallocHost(&pinned, 64));
  CHECK(executor.accessible(device.data()));
  CHECK(executor.accessible(device.data() + 3));
  CHECK(executor.accessible(ordered));
  CHECK(executor.accessible(managed));
  CHECK(executor.accessible(pinned));
  const std::vector<float> heap(4);
  const float stack = 0;
  CHECK_FALSE(executor.accessible(heap.data()));
  CHECK_FALSE(executor.accessible(&stack));
  CHECK_FALSE(executor.accessible(nullptr));
  CHECK(cudaGetLastError() == cudaSuccess);
  executor.deallocate(ordered, 64);
  MEZZO_CUDA(cudaFree(managed));
  MEZZO_CUDA(cudaFreeHost(pinned));
}

TEST_CASE("a_host_pointer_among_the_spans_is_refused_by_name_before_anything_is_queued") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const DeviceArray<float> weights(4);
  std::vector<float> gradients(4);
  using Optimizer = MasterOptimizer<Sgd, float>;
  const std::string message = message_of<InvalidArgument>([&] {
    Optimizer optimizer{executor, {{.model = weights, .gradient = gradients, .name = "bias"}}, Sgd::Options{}};
  });
  INFO(message);
  CHECK(contains(message, "cuda_test.cu:"));
  CHECK(contains(message, "MasterOptimizer: parameter 0 (\"bias\"): gradient must be memory of the executor's device"));
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("an_allocation_larger_than_the_device_is_out_of_memory_and_the_next_one_works") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  std::size_t free = 0, total = 0;
  MEZZO_CUDA(cudaMemGetInfo(&free, &total));
  const std::string message = message_of<OutOfMemory>([&] { static_cast<void>(executor.allocate(2 * total)); });
  INFO(message);
  CHECK(contains(message, "cuda_test.cu:"));
  CHECK(contains(message, ": cudaMallocAsync: "));
  CHECK(cudaGetLastError() == cudaSuccess);
  void* const memory = executor.allocate(1024);
  CHECK(memory != nullptr);
  executor.deallocate(memory, 1024);
}

// -- whose error is whose --------------------------------------------------------------------------------------------------

TEST_CASE("a_failed_launch_names_the_call_and_the_users_line_and_the_executor_goes_on") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  for (const std::uint32_t threads : {0U, 2000U}) {
    const std::string message = message_of<CudaError>(
        [&] { mezzo::detail::launch(executor, "do_nothing", &do_nothing, 1, threads, std::source_location::current()); });
    INFO(message);
    CHECK(contains(message, "cuda_test.cu:"));
    CHECK(contains(message, ": do_nothing: "));
    CHECK(contains(message, "(cudaError"));
    CHECK_FALSE(contains(message, "queued before"));
    // The exception told it: the program's own next check must not find it once more.
    CHECK(cudaGetLastError() == cudaSuccess);
  }
  const DeviceArray<int> value(1);
  run_once(executor, Store{value.data(), 5});
  executor.wait();
  CHECK(value.read() == std::vector<int>{5});
}

TEST_CASE("an_error_of_the_users_that_is_pending_is_neither_swallowed_nor_blamed_on_a_call") {
  MEZZO_NEEDS_DEVICE();
  const DeviceArray<float> weights(std::vector<float>(100, 1.f)), gradients(std::vector<float>(100, 1.f));
  const DeviceArray<int> value(1);
  CHECK(cudaSetDevice(100'000) == cudaErrorInvalidDevice);
  REQUIRE(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  {
    const CudaExecutor executor{cudaStream_t{nullptr}};
    void* const memory = executor.allocate(64);
    executor.fill(memory, std::byte{0}, 64);
    executor.copy(memory, gradients.data(), 64);
    run_once(executor, Store{value.data(), 5});
    for_each_index(executor, 1, CountVisits{static_cast<unsigned*>(memory)});
    CHECK(executor.accessible(memory));
    CHECK_FALSE(executor.accessible(&executor));
    executor.wait();
    executor.deallocate(memory, 64);
    DynamicLossScaler<> scaler{executor};
    MasterOptimizer<Sgd, float> optimizer{executor, {{weights, gradients}}, Sgd::Options{}};
    scaler.unscale(optimizer);
    clip_grad_norm(scaler, optimizer, 1.f);
    scaler.step(optimizer);
    scaler.update();
    optimizer.zero_grad();
    CHECK(scaler.state().growth_tracker == 1);
  }
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}

/// Every call must find the error that was there before, say so, and not call it its own; destructors must not throw.
void expect_sticky(const CudaExecutor& executor, DynamicLossScaler<>& scaler, void* memory) {
  const auto reported = [](const std::string& message) {
    INFO(message);
    CHECK(contains(message, "cuda_test.cu:"));
    CHECK(contains(message, "found an error of work queued before this call: "));
  };
  reported(message_of<CudaError>([&] { static_cast<void>(executor.allocate(64)); }));
  reported(message_of<CudaError>([&] { executor.fill(memory, std::byte{0}, 4); }));
  reported(message_of<CudaError>([&] { executor.copy(memory, memory, 4); }));
  reported(message_of<CudaError>([&] { run_once(executor, Store{static_cast<int*>(memory), 5}); }));
  reported(message_of<CudaError>([&] { executor.wait(); }));
  reported(message_of<CudaError>([&] { scaler.load_state({}); }));
  reported(message_of<CudaError>([&] { static_cast<void>(scaler.state()); }));
  executor.deallocate(memory, 64);
  CHECK(cudaGetLastError() != cudaSuccess);  // it is still the user's to find
}

TEST_CASE("process: a fault of the user's kernel" * doctest::skip()) {
  MEZZO_NEEDS_DEVICE();
  end_after(120);
  const CudaExecutor executor{cudaStream_t{nullptr}};
  DynamicLossScaler<> scaler{executor};
  void* const memory = executor.allocate(64);
  write_through<<<1, 1>>>(nullptr);
  CHECK(cudaDeviceSynchronize() != cudaSuccess);
  expect_sticky(executor, scaler, memory);
}

TEST_CASE("process: a trap of the user's kernel" * doctest::skip()) {
  MEZZO_NEEDS_DEVICE();
  end_after(120);
  const CudaExecutor executor{cudaStream_t{nullptr}};
  DynamicLossScaler<> scaler{executor};
  void* const memory = executor.allocate(64);
  trap<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize() != cudaSuccess);
  expect_sticky(executor, scaler, memory);
}

TEST_CASE("a_sticky_error_of_the_users_is_reported_as_found_by_every_call") {
  MEZZO_NEEDS_DEVICE();
  CHECK(run_alone("process: a fault of the user's kernel") == 0);
  CHECK(run_alone("process: a trap of the user's kernel") == 0);
}

TEST_CASE("process: gradients that were freed" * doctest::skip()) {
  MEZZO_NEEDS_DEVICE();
  end_after(120);
  const Stream stream;
  const CudaExecutor executor{stream};
  constexpr std::size_t size = 64 << 20;  // far more than a page of the device: freed, its addresses lead nowhere
  const DeviceArray<float> weights(size);
  DynamicLossScaler<> scaler{executor};
  std::string message;
  {
    DeviceArray<float> gradients(size);
    MasterOptimizer<Sgd, float> optimizer{executor, {{weights, gradients}}, Sgd::Options{}};
    { const DeviceArray<float> freed(std::move(gradients)); }
    message = message_of<CudaError>([&] {
      scaler.step(optimizer);
      executor.wait();
    });
    INFO(message);
    CHECK(contains(message, "found an error of work queued before this call: "));
    CHECK(message_of<CudaError>([&] { scaler.update(); }) != "");
    CHECK(message_of<CudaError>([&] { optimizer.zero_grad(); }) != "");
    CHECK(message_of<CudaError>([&] { static_cast<void>(optimizer.state()); }) != "");
  }  // the destructors must not throw
}

TEST_CASE("a_fault_inside_a_kernel_is_thrown_at_the_next_wait_and_destructors_stay_quiet") {
  MEZZO_NEEDS_DEVICE();
  CHECK(run_alone("process: gradients that were freed") == 0);
}

// -- the end of a device and of a process ------------------------------------------------------------------------------------

TEST_CASE("process: objects outlive the device" * doctest::skip()) {
  MEZZO_NEEDS_DEVICE();
  end_after(120);
  cudaStream_t stream = nullptr;
  MEZZO_CUDA(cudaStreamCreate(&stream));
  {
    const CudaExecutor on_default{cudaStream_t{nullptr}}, on_stream{stream};
    float* weights = nullptr;
    MEZZO_CUDA(cudaMalloc(&weights, 64));
    DynamicLossScaler<> scaler{on_default}, other{on_stream};
    MasterOptimizer<Sgd, float> optimizer{on_stream, {{Span<float>(weights, 8), Span<float>(weights + 8, 8)}}, Sgd::Options{}};
    on_default.wait();
    on_stream.wait();
    MEZZO_CUDA(cudaDeviceReset());
  }
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("process: an object that dies with the process" * doctest::skip()) {
  MEZZO_NEEDS_DEVICE();
  end_after(120);
  static DynamicLossScaler<> scaler{CudaExecutor{cudaStream_t{nullptr}}};
  CHECK(scaler.state().scale == 65536.f);
}

TEST_CASE("objects_may_outlive_a_device_reset_and_the_runtime_itself") {
  MEZZO_NEEDS_DEVICE();
  CHECK(run_alone("process: objects outlive the device") == 0);
  CHECK(run_alone("process: an object that dies with the process") == 0);
}

TEST_CASE("process: a fork after CUDA began" * doctest::skip()) {
  MEZZO_NEEDS_DEVICE();
  end_after(120);
  const CudaExecutor executor{cudaStream_t{nullptr}};
  DynamicLossScaler<> scaler{executor};
  CHECK(scaler.state().scale == 65536.f);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    end_after(60);
    // CUDA does not live on in a forked process; what matters is a typed error and no wrong answer.
    bool refused = false;
    try {
      static_cast<void>(scaler.state());
    } catch (const CudaError&) {
      refused = true;
    }
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(scaler.state().scale == 65536.f);
}

TEST_CASE("a_forked_process_gets_a_cuda_error_and_the_parent_goes_on") {
  MEZZO_NEEDS_DEVICE();
  CHECK(run_alone("process: a fork after CUDA began") == 0);
}

// -- capture ------------------------------------------------------------------------------------------------------------------

TEST_CASE("using_the_legacy_stream_while_another_captures_is_an_error_that_says_so") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor legacy{cudaStreamLegacy};
  const DeviceArray<int> value(1);
  const Stream capturing{cudaStreamDefault};  // a blocking stream, which the legacy stream would have to wait for
  run_once(legacy, Store{value.data(), 1});
  legacy.wait();
  MEZZO_CUDA(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeRelaxed));
  const std::string message = message_of<CudaError>([&] { run_once(legacy, Store{value.data(), 2}); });
  INFO(message);
  CHECK(contains(message, ": run_once: "));
  CHECK(contains(message, "(cudaErrorStreamCaptureImplicit)"));
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(capturing, &graph));
  if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  static_cast<void>(cudaGetLastError());
  run_once(legacy, Store{value.data(), 3});
  legacy.wait();
  CHECK(value.read() == std::vector<int>{3});
}

TEST_CASE("work_of_an_executor_is_captured_and_replayed") {
  MEZZO_NEEDS_DEVICE();
  const Stream stream;
  const CudaExecutor executor{stream};
  const DeviceArray<int> from(1), to(1);
  const Graph graph(stream, [&] {
    executor.copy(to.data(), from.data(), sizeof(int));
    executor.fill(from.data(), std::byte{0}, sizeof(int));
  });
  from.write({4});
  to.write({0});
  graph.replay();
  stream.wait();
  CHECK(to.read() == std::vector<int>{4});
  CHECK(from.read() == std::vector<int>{0});
}

}  // namespace
