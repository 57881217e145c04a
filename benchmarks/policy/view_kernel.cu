// An element-wise kernel under a policy beside what one would write instead: y = x / (1 + exp(-x)), data in 16 bits, arithmetic
// in float.
//
// view    mezzo's views: the kernel converts as it loads and stores; 4 bytes an element (2 read, 2 written)
// hand    the same kernel over raw pointers with the toolkit's conversions; 4 bytes an element
// passes  a cast to float, the float kernel, a cast back; it moves 20 bytes an element, counted as the 4 that are needed
//
// TBps and share (of the copy bandwidth measured in the same run) count 4 bytes an element. Times are medians over 15 replays of
// a CUDA graph of five runs; with 256 M elements nothing stays in the second cache.
#include "support/device.cuh"

#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>

namespace {

using namespace mezzo;
using namespace mezzo::bench;

constexpr std::size_t elements = std::size_t{1} << 28;
constexpr unsigned threads = 256;
constexpr int runs_in_graph = 5;

__device__ float swish(float x) { return x / (1.f + expf(-x)); }
__device__ float widened(__half x) { return __half2float(x); }
__device__ float widened(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void narrow(float x, __half& y) { y = __float2half_rn(x); }
__device__ void narrow(float x, __nv_bfloat16& y) { y = __float2bfloat16_rn(x); }

template <class In, class Out>
__global__ void view_kernel(In x, Out y) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < x.size()) y[i] = swish(x[i]);
}
template <class T>
__global__ void hand_kernel(const T* x, T* y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) narrow(swish(widened(x[i])), y[i]);
}
__global__ void float_kernel(const float* x, float* y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = swish(x[i]);
}
template <class T>
__global__ void widen_kernel(const T* x, float* y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = widened(x[i]);
}
template <class T>
__global__ void narrow_kernel(const float* x, T* y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) narrow(x[i], y[i]);
}

template <class Work>
void measure(benchmark::State& state, const Stream& stream, Work&& work) {
  work();  // outside the capture: kernels are loaded lazily
  MEZZO_BENCH_CHECK(cudaGetLastError());
  stream.wait();
  const Graph graph(stream, [&] {
    for (int i = 0; i < runs_in_graph; ++i) work();
  });
  Clock clock(stream);
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) clock.events(graph);
  for (int i = 0; i < 15; ++i) times.push_back(clock.events(graph) / runs_in_graph);
  const double time = median(times);
  for (auto _ : state) state.SetIterationTime(time * 1e-6);
  const double bytes = 4. * static_cast<double>(elements);
  state.counters["TBps"] = bytes / time / 1e6;
  state.counters["share"] = bytes / time / 1e6 / machine().copy.best();
}

template <class T>
void add() {
  const auto name = [](const char* kind) { return std::string("swish/") + kind + "/" + element_traits<T>::name; };
  const auto with_data = [](auto run) {
    return [run](benchmark::State& state) {
      const Stream stream;
      const DeviceMemory in(elements * sizeof(T)), out(elements * sizeof(T));
      T* x = reinterpret_cast<T*>(in.data());
      fill(stream, x, elements, 4.f, 1);
      run(state, stream, x, reinterpret_cast<T*>(out.data()));
    };
  };
  constexpr auto blocks = static_cast<unsigned>(elements / threads);
  benchmark::RegisterBenchmark(name("view").c_str(), with_data([](benchmark::State& state, const Stream& stream, T* x, T* y) {
    using Policy = Autocast<T>;
    const auto in = argument_view<Policy, op::softplus>(Span<const T>(x, elements));
    const auto out = result_view<Policy, op::softplus, T>(Span<T>(y, elements));
    measure(state, stream, [&] { view_kernel<<<blocks, threads, 0, stream>>>(in, out); });
  }))->Iterations(1)->UseManualTime();
  benchmark::RegisterBenchmark(name("hand").c_str(), with_data([](benchmark::State& state, const Stream& stream, T* x, T* y) {
    measure(state, stream, [&] { hand_kernel<<<blocks, threads, 0, stream>>>(x, y, elements); });
  }))->Iterations(1)->UseManualTime();
  benchmark::RegisterBenchmark(name("passes").c_str(), with_data([](benchmark::State& state, const Stream& stream, T* x, T* y) {
    const DeviceMemory wide_in(elements * sizeof(float)), wide_out(elements * sizeof(float));
    auto* wide_x = reinterpret_cast<float*>(wide_in.data());
    auto* wide_y = reinterpret_cast<float*>(wide_out.data());
    measure(state, stream, [&] {
      widen_kernel<<<blocks, threads, 0, stream>>>(x, wide_x, elements);
      float_kernel<<<blocks, threads, 0, stream>>>(wide_x, wide_y, elements);
      narrow_kernel<<<blocks, threads, 0, stream>>>(wide_y, y, elements);
    });
  }))->Iterations(1)->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  add<float16>();
  add<bfloat16>();
  return run(argc, argv);
}
