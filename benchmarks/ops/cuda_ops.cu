// The ops of a ResNet-18 training step on CIFAR-10, each alone in a CUDA graph: every convolution in its three passes, and
// batch norm's passes with what joins them.
//
// conv/<pass>/<back end>/<type>/<layer>/<batch>, back end cudnn or toolkit (without it): TFLOPS counts 2 operations a product;
// times is how often the layer stands in ResNet-18. norm/<op>/<type>/<shape>/<batch>: TBps counts the bytes stated below, share
// is of the copy bandwidth measured in the same run. Both are medians over replays of five runs each; runs follow each other on
// the same memory, so what is smaller than the second cache comes from there (resident).
//
// Bytes an element of 2 bytes: batch_norm_relu 6 (statistics read x; then x is read, y written), batch_norm_add_relu 8 (the
// shortcut too); batch_norm_relu_backward 10 (x and dy read twice, dx written), batch_norm_add_relu_backward 14 (x, y and dy
// read, the masked dy written; it and x read, dx written).

#include "support/device.cuh"

#include <span>

#include <mezzo/ops/ops.cuh>

namespace {

using namespace mezzo;
using namespace mezzo::bench;

constexpr int runs_in_graph = 5;

/// Microseconds of one run of `work`.
template <class Work>
double time_of(const Stream& stream, Work&& work) {
  work();  // outside the capture: kernels are loaded lazily
  stream.wait();
  const Graph graph(stream, [&] {
    for (int i = 0; i < runs_in_graph; ++i) work();
  });
  Clock clock(stream);
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) clock.events(graph);
  for (int i = 0; i < 15; ++i) times.push_back(clock.events(graph) / runs_in_graph);
  return median(times);
}

/// Device memory of n elements with contents.
template <class T>
struct Data {
  Data(const Stream& stream, std::size_t n, float size, std::uint32_t seed) : memory(n * sizeof(T)), count(n) {
    fill(stream, data(), n, size, seed);
  }
  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(memory.data()); }
  [[nodiscard]] Span<T> span() const { return {data(), count}; }
  DeviceMemory memory;
  std::size_t count;
};

template <class T>
const char* type_name() {
  return element_traits<T>::name;
}

// -- convolutions -------------------------------------------------------------------------------------------------------------
struct Layer {
  std::int64_t in, out, side, kernel, stride;
  int times;  ///< in the network
};
// The images' three channels are padded to eight.
constexpr Layer layers[] = {{8, 64, 32, 3, 1, 1},    {64, 64, 32, 3, 1, 4},   {64, 128, 32, 3, 2, 1}, {128, 128, 16, 3, 1, 3}, {64, 128, 32, 1, 2, 1},  {128, 256, 16, 3, 2, 1},
                            {256, 256, 8, 3, 1, 3},  {128, 256, 16, 1, 2, 1}, {256, 512, 8, 3, 2, 1}, {512, 512, 4, 3, 1, 3},  {256, 512, 8, 1, 2, 1}};

// Those of ResNet-20.
constexpr Layer narrow_layers[] = {{8, 16, 32, 3, 1, 1}, {16, 16, 32, 3, 1, 6}, {16, 32, 32, 3, 2, 1}, {32, 32, 16, 3, 1, 5}, {32, 64, 16, 3, 2, 1}, {64, 64, 8, 3, 1, 5}};

enum class Pass { forward, data_gradient, weight_gradient };
constexpr const char* pass_names[] = {"forward", "data_gradient", "weight_gradient"};

double total_microseconds[2][3];  // by batch (256, 1024) and pass, float16, all layers of a step

/// `math` is for floats; `counted`: adds up in total_microseconds.
template <class Engine, class T>
void convolution(benchmark::State& state, const Layer& layer, Pass pass, std::int64_t batch, Float32Math math, bool counted) {
  const Stream stream;
  const CudaExecutor executor{stream};
  const Conv2dShape shape{.batch = batch, .height = layer.side, .width = layer.side, .in_channels = layer.in, .out_channels = layer.out,
                          .kernel = layer.kernel, .stride = layer.stride, .padding = layer.kernel / 2};
  const auto y_count = static_cast<std::size_t>(batch * shape.out_height() * shape.out_width() * layer.out);
  const auto w_count = static_cast<std::size_t>(layer.out * layer.kernel * layer.kernel * layer.in);
  const auto x_count = static_cast<std::size_t>(batch * layer.side * layer.side * layer.in);
  Workspace workspace{executor, Engine::template workspace_bytes<T>(executor, shape)};
  set_float32_math(workspace, math);
  const Data<T> x(stream, x_count, 1.f, 1), w(stream, w_count, .05f, 2), y(stream, y_count, 1.f, 3);
  const auto where = std::source_location::current();
  const double time = time_of(stream, [&] {
    switch (pass) {
      case Pass::forward: Engine::template forward<T, T, T>(workspace, shape, x.data(), w.data(), y.data(), where); break;
      case Pass::data_gradient: Engine::template data_gradient<T, T, T>(workspace, shape, y.data(), w.data(), x.data(), Accumulate::no, where); break;
      default: Engine::template weight_gradient<T, T, T>(workspace, shape, x.data(), y.data(), w.data(), Accumulate::no, where);
    }
  });
  for (auto _ : state) state.SetIterationTime(time * 1e-6);
  const double operations = 2. * static_cast<double>(y_count) * static_cast<double>(layer.kernel * layer.kernel * layer.in);
  state.counters["TFLOPS"] = operations / time / 1e6;
  state.counters["times"] = layer.times;
  if (counted) {
    double& total = total_microseconds[batch == 256 ? 0 : 1][static_cast<int>(pass)];
    total += time * layer.times;
    state.counters["total_ms"] = total / 1e3;  // of the layers of this pass up to here
  }
}

template <class Engine, class T>
void add_convolutions(const char* engine, std::span<const Layer> of, std::int64_t batch, Float32Math math = Float32Math::ieee, bool counted = false) {
  const char* const type = math == Float32Math::tf32 ? "tf32" : type_name<T>();
  for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::weight_gradient}) {
    for (const Layer& layer : of) {
      if (pass == Pass::data_gradient && layer.in == 8) continue;  // nobody needs the images' gradient
      const std::string name = std::string("conv/") + pass_names[static_cast<int>(pass)] + "/" + engine + "/" + type + "/" +
                               std::to_string(layer.in) + "-" + std::to_string(layer.out) + "_" + std::to_string(layer.side) + "_k" +
                               std::to_string(layer.kernel) + "s" + std::to_string(layer.stride) + "/" + std::to_string(batch);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { convolution<Engine, T>(state, layer, pass, batch, math, counted); })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

// -- batch norm ---------------------------------------------------------------------------------------------------------------
enum class Norm { relu, add_relu, relu_backward, add_relu_backward };
constexpr const char* norm_names[] = {"batch_norm_relu", "batch_norm_add_relu", "batch_norm_relu_backward", "batch_norm_add_relu_backward"};
constexpr double norm_units[] = {3, 4, 5, 7};  // elements moved for each element of x

template <class T>
void norm(benchmark::State& state, Norm op, std::int64_t channels, std::int64_t side, std::int64_t batch) {
  using Policy = Autocast<T>;
  const Stream stream;
  const CudaExecutor executor{stream};
  const ImageShape shape{.batch = batch, .height = side, .width = side, .channels = channels};
  const auto count = static_cast<std::size_t>(batch * side * side * channels), c = static_cast<std::size_t>(channels);
  Workspace workspace{executor, batch_norm_workspace_bytes<T>(executor, shape)};
  const Data<T> x(stream, count, 1.f, 1), y(stream, count, 1.f, 2), dy(stream, count, 1.f, 3), dx(stream, count, 1.f, 4);
  const Data<float> gamma(stream, c, 1.f, 5), beta(stream, c, 1.f, 6), mean(stream, c, 1.f, 7), inverse(stream, c, 1.f, 8), dgamma(stream, c, 1.f, 9), dbeta(stream, c, 1.f, 10);
  const BatchNormWeights<float> weights{.gamma = gamma.span(), .beta = beta.span()};
  const BatchNormSaved<float> saved{.mean = mean.span(), .inv_std = inverse.span()};
  const BatchNormSaved<const float> read{.mean = mean.span(), .inv_std = inverse.span()};
  const BatchNormGradients<float> gradients{.gamma = dgamma.span(), .beta = dbeta.span()};
  const double time = time_of(stream, [&] {
    switch (op) {
      case Norm::relu: batch_norm_relu<Policy>(workspace, shape, x.span(), weights, {}, saved, y.span()); break;
      case Norm::add_relu: batch_norm_add_relu<Policy>(workspace, shape, x.span(), dy.span(), weights, {}, saved, y.span()); break;
      case Norm::relu_backward: batch_norm_relu_backward<Policy>(workspace, shape, x.span(), y.span(), dy.span(), weights, read, dx.span(), gradients); break;
      default: batch_norm_add_relu_backward<Policy>(workspace, shape, x.span(), y.span(), dy.span(), Span<T>{}, weights, read, dx.span(), dy.span(), gradients);
    }
  });
  for (auto _ : state) state.SetIterationTime(time * 1e-6);
  const double bytes = norm_units[static_cast<int>(op)] * static_cast<double>(count * sizeof(T));
  state.counters["TBps"] = bytes / time / 1e6;
  state.counters["share"] = bytes / time / 1e6 / machine().copy.best();
  state.SetLabel(machine().residence(static_cast<double>(count * sizeof(T)) * (op == Norm::relu ? 2 : 3)));
}

template <class T>
void add_norms(std::int64_t batch) {
  for (const Norm op : {Norm::relu, Norm::add_relu, Norm::relu_backward, Norm::add_relu_backward}) {
    for (const auto& [channels, side] : {std::pair{64, 32}, {128, 16}, {256, 8}, {512, 4}}) {
      const std::string name = std::string("norm/") + norm_names[static_cast<int>(op)] + "/" + type_name<T>() + "/" + std::to_string(channels) + "_" +
                               std::to_string(side) + "/" + std::to_string(batch);
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { norm<T>(state, op, channels, side, batch); })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  using Toolkit = detail::cublas::GatheredConv2d;
#if defined(MEZZO_HAS_CUDNN) && MEZZO_HAS_CUDNN
  using Cudnn = detail::cudnn::GraphConv2d;
  for (const std::int64_t batch : {256, 1024}) add_convolutions<Cudnn, float16>("cudnn", layers, batch, Float32Math::ieee, true);
  add_convolutions<Cudnn, float>("cudnn", layers, 256, Float32Math::tf32);
  add_convolutions<Cudnn, float>("cudnn", narrow_layers, 1024, Float32Math::tf32);
#endif
  add_convolutions<Toolkit, float16>("toolkit", layers, 256);
  add_convolutions<Toolkit, float>("toolkit", layers, 256);
  add_convolutions<Toolkit, float>("toolkit", narrow_layers, 1024);
  for (const std::int64_t batch : {256, 1024}) add_norms<float16>(batch);
  return run(argc, argv);
}
