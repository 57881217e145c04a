#pragma once
// What a benchmark on a GPU needs: memory with contents, times by several clocks, and the copy bandwidth to compare with.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <mezzo/mezzo.cuh>

namespace mezzo::bench {

inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(EXIT_FAILURE);
}
#define MEZZO_BENCH_CHECK(call) ::mezzo::bench::check(call, #call)

/// Device memory of a benchmark, by plain cudaMalloc.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) { MEZZO_BENCH_CHECK(cudaMalloc(&data_, bytes)); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream() { MEZZO_BENCH_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT: implicit on purpose
  void wait() const { MEZZO_BENCH_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// -- contents ---------------------------------------------------------------------------------------------------------------
/// Pseudo-random values in [-size, size): never all alike, since zeros can be faster than data.
template <class T>
__global__ void fill_kernel(T* out, std::size_t count, float size, std::uint32_t seed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761U + seed;
    x ^= x >> 16;
    x *= 2246822519U;
    x ^= x >> 13;
    const float unit = static_cast<float>(x >> 8) * (2.f / 16777216.f) - 1.f;
    out[i] = convert<T>(unit * size);
  }
}

template <class T>
void fill(cudaStream_t stream, T* out, std::size_t count, float size, std::uint32_t seed) {
  fill_kernel<<<1056, 256, 0, stream>>>(out, count, size, seed);
  MEZZO_BENCH_CHECK(cudaGetLastError());
}

// -- clocks -----------------------------------------------------------------------------------------------------------------
template <class = void>
__global__ void spin_kernel(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}

/// The value below which a share of the samples lies; 0 without samples.
inline double quantile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(samples.size() - 1) + .5);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}
inline double median(std::vector<double> samples) { return quantile(std::move(samples), .5); }

inline double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

/// Times one piece of queued work on a stream.
class Clock {
 public:
  explicit Clock(cudaStream_t stream) : stream_(stream) {
    MEZZO_BENCH_CHECK(cudaEventCreate(&begin_));
    MEZZO_BENCH_CHECK(cudaEventCreate(&end_));
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  ~Clock() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }

  /// Microseconds between events around `work` on an idle device: the time to launch counts where it is the longer one.
  template <class F>
  double events(F&& work) {
    MEZZO_BENCH_CHECK(cudaEventRecord(begin_, stream_));
    work();
    MEZZO_BENCH_CHECK(cudaEventRecord(end_, stream_));
    return elapsed();
  }
  /// The same with the device kept busy until all of it was queued: what the device alone takes.
  template <class F>
  double queued(F&& work) {
    constexpr long long cycles = 400'000;  // about 0.2 ms
    spin_kernel<><<<1, 1, 0, stream_>>>(cycles);
    return events(work);
  }
  /// From the call to its result: the host's clock, with the wait.
  template <class F>
  double wall(F&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    MEZZO_BENCH_CHECK(cudaStreamSynchronize(stream_));
    return microseconds_since(start);
  }
  /// What the calls cost the host while the device is busy: any wait hidden in them would show.
  template <class F>
  double host(F&& work) {
    constexpr long long cycles = 4'000'000;  // about 2 ms
    spin_kernel<><<<1, 1, 0, stream_>>>(cycles);
    const auto start = std::chrono::steady_clock::now();
    work();
    const double time = microseconds_since(start);
    MEZZO_BENCH_CHECK(cudaStreamSynchronize(stream_));
    return time;
  }

 private:
  double elapsed() {
    MEZZO_BENCH_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    MEZZO_BENCH_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return double{milliseconds} * 1e3;
  }

  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Work captured once in a CUDA graph.
class Graph {
 public:
  template <class F>
  Graph(cudaStream_t stream, F&& work) : stream_(stream) {
    cudaGraph_t graph = nullptr;
    MEZZO_BENCH_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    work();
    MEZZO_BENCH_CHECK(cudaStreamEndCapture(stream, &graph));
    MEZZO_BENCH_CHECK(cudaGraphInstantiate(&executable_, graph, 0));
    MEZZO_BENCH_CHECK(cudaGraphDestroy(graph));
    MEZZO_BENCH_CHECK(cudaGraphUpload(executable_, stream));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { static_cast<void>(cudaGraphExecDestroy(executable_)); }
  void operator()() const { MEZZO_BENCH_CHECK(cudaGraphLaunch(executable_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

// -- the yardstick ----------------------------------------------------------------------------------------------------------
template <int Unroll>
__global__ void __launch_bounds__(512) copy_kernel(const uint4* from, uint4* to) {
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x * Unroll + threadIdx.x;
  uint4 values[Unroll];
#pragma unroll
  for (int i = 0; i < Unroll; ++i) values[i] = from[first + i * blockDim.x];
#pragma unroll
  for (int i = 0; i < Unroll; ++i) to[first + i * blockDim.x] = values[i];
}

/// The best of a copy kernel and cudaMemcpyAsync over 4 GiB.
struct CopyBandwidth {
  double kernel = 0;  ///< TB/s, bytes read plus bytes written
  double memcpy = 0;
  [[nodiscard]] double best() const { return std::max(kernel, memcpy); }
};

inline CopyBandwidth measure_copy() {
  constexpr std::size_t bytes = std::size_t{4} << 30;
  const DeviceMemory from(bytes), to(bytes);
  const Stream stream;
  fill(stream, reinterpret_cast<float*>(from.data()), bytes / sizeof(float), 1.f, 1);
  Clock clock(stream);
  const auto terabytes_per_second = [&](auto&& copy) {
    std::vector<double> times;
    for (int i = 0; i < 3; ++i) clock.events(copy);
    for (int i = 0; i < 15; ++i) times.push_back(clock.events(copy));
    return 2. * static_cast<double>(bytes) / median(times) / 1e6;
  };
  const auto* source = reinterpret_cast<const uint4*>(from.data());
  auto* target = reinterpret_cast<uint4*>(to.data());
  const auto kernel = [&](auto unroll, unsigned threads) {
    constexpr int n = decltype(unroll)::value;
    const auto blocks = static_cast<unsigned>(bytes / sizeof(uint4) / threads / n);
    return terabytes_per_second([&] { copy_kernel<n><<<blocks, threads, 0, stream>>>(source, target); });
  };
  CopyBandwidth found;
  for (const unsigned threads : {256U, 512U}) {
    found.kernel = std::max(found.kernel, kernel(std::integral_constant<int, 1>{}, threads));
    found.kernel = std::max(found.kernel, kernel(std::integral_constant<int, 2>{}, threads));
    found.kernel = std::max(found.kernel, kernel(std::integral_constant<int, 4>{}, threads));
    found.kernel = std::max(found.kernel, kernel(std::integral_constant<int, 8>{}, threads));
  }
  MEZZO_BENCH_CHECK(cudaGetLastError());
  found.memcpy = terabytes_per_second(
      [&] { MEZZO_BENCH_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream)); });
  return found;
}

/// What the run stands on; measured by `run`.
struct Machine {
  std::string device;
  double l2_bytes = 0;
  CopyBandwidth copy;

  /// Where the data of a step of this many bytes comes from, when the same step ran just before.
  [[nodiscard]] const char* residence(double footprint) const {
    if (footprint < l2_bytes) return "L2-warm";
    return footprint < 4 * l2_bytes ? "partly L2-warm" : "from memory";
  }
};

inline Machine& machine() {
  static Machine machine;
  return machine;
}

/// main() of a GPU benchmark: measures the copy bandwidth, says whether the run is valid, and runs what was registered.
inline int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no GPU: nothing measured");
    return 77;
  }
  cudaDeviceProp properties{};
  MEZZO_BENCH_CHECK(cudaGetDeviceProperties(&properties, 0));
  Machine& here = machine();
  here.device = properties.name;
  here.l2_bytes = properties.l2CacheSize;
  here.copy = measure_copy();
  // An H200 that copies slower than this is shared or throttled: its figures would say nothing about the code.
  const bool valid = here.device.find("H200") == std::string::npos || here.copy.best() >= 4.1;
  const auto text = [](double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.3f", value);
    return std::string(buffer);
  };
  benchmark::AddCustomContext("device", here.device);
  benchmark::AddCustomContext("l2_bytes", std::to_string(properties.l2CacheSize));
  benchmark::AddCustomContext("copy_kernel_TBps", text(here.copy.kernel));
  benchmark::AddCustomContext("copy_memcpy_TBps", text(here.copy.memcpy));
  benchmark::AddCustomContext("copy_TBps", text(here.copy.best()));
  benchmark::AddCustomContext("valid", valid ? "yes" : "not valid: the device copies below 4.1 TB/s");
  if (!valid) std::printf("not valid: this H200 copies at %.2f TB/s, below 4.1\n", here.copy.best());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}

}  // namespace mezzo::bench
