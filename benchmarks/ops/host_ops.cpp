// Every op of a ResNet-8 at batch 64 on the host, beside a plain sgemm of the same size: `M = batch * height * width` rows,
// `N` output channels, `K` products each. The sgemm is given its matrix; for a convolution somebody would first have to
// write it out. GFLOP/s count 2 M N K; GB/s the bytes that an element-wise op must read and write, beside memcpy.
//
// One thread; compile with -fopenmp and set OMP_NUM_THREADS (and OPENBLAS_NUM_THREADS) for more.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <mezzo/ops/ops.hpp>

namespace {

using mezzo::Accumulate;
using mezzo::Conv2dShape;
using mezzo::ImageShape;

constexpr std::int64_t batch = 64;

struct Layer {
  const char* name;
  Conv2dShape shape;
};
constexpr Layer layers[] = {
    {"stem_3x3_3_16", {.batch = batch, .height = 32, .width = 32, .in_channels = 3, .out_channels = 16, .kernel = 3, .stride = 1, .padding = 1}},
    {"3x3_16_16", {.batch = batch, .height = 32, .width = 32, .in_channels = 16, .out_channels = 16, .kernel = 3, .stride = 1, .padding = 1}},
    {"3x3_16_32_stride_2", {.batch = batch, .height = 32, .width = 32, .in_channels = 16, .out_channels = 32, .kernel = 3, .stride = 2, .padding = 1}},
    {"3x3_32_32", {.batch = batch, .height = 16, .width = 16, .in_channels = 32, .out_channels = 32, .kernel = 3, .stride = 1, .padding = 1}},
    {"1x1_16_32_stride_2", {.batch = batch, .height = 32, .width = 32, .in_channels = 16, .out_channels = 32, .kernel = 1, .stride = 2, .padding = 0}},
    {"3x3_32_64_stride_2", {.batch = batch, .height = 16, .width = 16, .in_channels = 32, .out_channels = 64, .kernel = 3, .stride = 2, .padding = 1}},
    {"3x3_64_64", {.batch = batch, .height = 8, .width = 8, .in_channels = 64, .out_channels = 64, .kernel = 3, .stride = 1, .padding = 1}},
    {"1x1_32_64_stride_2", {.batch = batch, .height = 16, .width = 16, .in_channels = 32, .out_channels = 64, .kernel = 1, .stride = 2, .padding = 0}},
};

template <class T>
std::vector<T> values(std::int64_t count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = mezzo::convert<T>(static_cast<float>(i * 2654435761u % 1009) / 1009.f - .5f);
  return result;
}

void report_flops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}
void report_bytes(benchmark::State& state, double bytes) {
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

enum class Pass { forward, data_gradient, weight_gradient };

template <class T>
void convolution(benchmark::State& state, const Conv2dShape& shape, Pass pass) {
  using Policy = mezzo::Autocast<T>;
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, mezzo::conv2d_workspace_bytes<T>(executor, shape)};
  const std::int64_t pixels = shape.out_height() * shape.out_width();
  auto x = values<T>(batch * shape.height * shape.width * shape.in_channels);
  auto w = values<T>(shape.out_channels * shape.kernel * shape.kernel * shape.in_channels);
  auto y = values<T>(batch * pixels * shape.out_channels);
  for (auto _ : state) {
    switch (pass) {
      case Pass::forward: mezzo::conv2d<Policy>(workspace, shape, x, w, y); break;
      case Pass::data_gradient: mezzo::conv2d_data_gradient<Policy>(workspace, shape, y, w, x); break;
      case Pass::weight_gradient: mezzo::conv2d_weight_gradient<Policy>(workspace, shape, x, y, w); break;
    }
    benchmark::ClobberMemory();
  }
  report_flops(state, 2. * static_cast<double>(batch * pixels * shape.out_channels * shape.kernel * shape.kernel * shape.in_channels));
}

/// The product that an explicit matrix of windows would need, in float32.
void sgemm(benchmark::State& state, const Conv2dShape& shape, Pass pass) {
  const std::int64_t m = batch * shape.out_height() * shape.out_width();
  const std::int64_t n = shape.out_channels;
  const std::int64_t k = shape.kernel * shape.kernel * shape.in_channels;
  mezzo::GemmShape product{.m = m, .n = n, .k = k};
  if (pass == Pass::data_gradient) product = {.m = m, .n = k, .k = n};
  if (pass == Pass::weight_gradient) product = {.m = n, .n = k, .k = m, .transpose_a = mezzo::Transpose::yes};
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  const auto a = values<float>(product.m * product.k), b = values<float>(product.k * product.n);
  auto c = values<float>(product.m * product.n);
  for (auto _ : state) {
    mezzo::matmul<mezzo::Autocast<float>>(workspace, product, a, b, c);
    benchmark::ClobberMemory();
  }
  report_flops(state, 2. * static_cast<double>(m * n * k));
}

template <class T>
struct Images {
  explicit Images(const ImageShape& given)
      : shape(given), workspace(executor, mezzo::batch_norm_workspace_bytes<T>(executor, given)), x(values<T>(count())), y(x), z(x),
        gamma(static_cast<std::size_t>(given.channels), 1.f), beta(gamma), mean(gamma), variance(gamma), saved_mean(gamma), inverse(gamma) {}

  [[nodiscard]] std::int64_t count() const { return shape.batch * shape.height * shape.width * shape.channels; }
  [[nodiscard]] double bytes() const { return static_cast<double>(count()) * sizeof(T); }

  ImageShape shape;
  mezzo::HostExecutor executor;
  mezzo::Workspace<mezzo::HostExecutor> workspace;
  std::vector<T> x, y, z;
  std::vector<float> gamma, beta, mean, variance, saved_mean, inverse;
};

/// Passes over the data that an op cannot do without, times the bytes of one.
template <class T, class Run>
void elementwise(benchmark::State& state, const ImageShape& shape, double passes, Run run) {
  Images<T> images(shape);
  for (auto _ : state) {
    run(images);
    benchmark::ClobberMemory();
  }
  report_bytes(state, passes * images.bytes());
}

template <class T>
void register_elementwise(const std::string& type) {
  using Policy = mezzo::Autocast<T>;
  const auto add = [&](const char* name, double passes, auto run) {
    for (const ImageShape& shape : {ImageShape{.batch = batch, .height = 32, .width = 32, .channels = 16}, ImageShape{.batch = batch, .height = 8, .width = 8, .channels = 64}}) {
      const std::string size = std::to_string(shape.height) + "x" + std::to_string(shape.width) + "x" + std::to_string(shape.channels);
      benchmark::RegisterBenchmark((std::string(name) + "/" + size + "/" + type).c_str(),
                                   [=](benchmark::State& state) { elementwise<T>(state, shape, passes, run); });
    }
  };
  add("memcpy", 2, [](Images<T>& i) { std::memcpy(i.y.data(), i.x.data(), i.x.size() * sizeof(T)); });
  add("batch_norm", 3, [](Images<T>& i) {
    mezzo::batch_norm<Policy>(i.workspace, i.shape, i.x, {.gamma = i.gamma, .beta = i.beta}, {.mean = i.mean, .variance = i.variance},
                              {.mean = i.saved_mean, .inv_std = i.inverse}, i.y);
  });
  add("batch_norm_backward", 5, [](Images<T>& i) {
    mezzo::batch_norm_backward<Policy>(i.workspace, i.shape, i.x, i.y, {.gamma = i.gamma, .beta = i.beta}, {.mean = i.mean, .inv_std = i.variance}, i.z,
                                       {.gamma = i.saved_mean, .beta = i.inverse});
  });
  add("relu", 2, [](Images<T>& i) { mezzo::relu<Policy>(i.workspace, i.x, i.y); });
  add("relu_backward", 3, [](Images<T>& i) { mezzo::relu_backward<Policy>(i.workspace, i.x, i.y, i.z); });
  add("add", 3, [](Images<T>& i) { mezzo::add<Policy>(i.workspace, i.x, i.y, i.z); });
  add("global_avg_pool2d", 1, [](Images<T>& i) {
    mezzo::global_avg_pool2d<Policy>(i.workspace, i.shape, i.x, mezzo::Span<T>(i.y.data(), static_cast<std::size_t>(batch * i.shape.channels)));
  });
}

template <class T>
void linear_layer(benchmark::State& state, Pass pass) {
  using Policy = mezzo::Autocast<T>;
  constexpr mezzo::LinearShape shape{.batch = batch, .in_features = 64, .out_features = 10};
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, mezzo::linear_workspace_bytes<T>(executor, shape)};
  auto x = values<T>(64 * batch), w = values<T>(640), y = values<T>(10 * batch);
  const std::vector<float> bias(10);
  for (auto _ : state) {
    switch (pass) {
      case Pass::forward: mezzo::linear<Policy>(workspace, shape, x, w, bias, y); break;
      case Pass::data_gradient: mezzo::linear_data_gradient<Policy>(workspace, shape, y, w, x); break;
      case Pass::weight_gradient: mezzo::linear_weight_gradient<Policy>(workspace, shape, x, y, w); break;
    }
    benchmark::ClobberMemory();
  }
  report_flops(state, 2. * 64 * 10 * batch);
}

template <class T>
void loss(benchmark::State& state) {
  const mezzo::HostExecutor executor;
  mezzo::Workspace workspace{executor, 0};
  auto logits = values<T>(10 * batch), gradient = logits;
  const std::vector<std::uint8_t> labels(batch, 3);
  float mean = 0;
  for (auto _ : state) {
    mezzo::softmax_cross_entropy<mezzo::Autocast<T>>(workspace, {.batch = batch, .classes = 10}, logits, labels, 1024.f, {.loss = mezzo::Span<float>(&mean, 1)}, gradient);
    benchmark::ClobberMemory();
  }
}

template <class T>
void register_type(const std::string& type) {
  for (const auto& [pass, name] : {std::pair{Pass::forward, "conv2d"}, std::pair{Pass::data_gradient, "conv2d_data_gradient"}, std::pair{Pass::weight_gradient, "conv2d_weight_gradient"}}) {
    for (const Layer& layer : layers) {
      if (pass == Pass::data_gradient && layer.shape.in_channels == 3) continue;  // images need no gradient
      benchmark::RegisterBenchmark((std::string(name) + "/" + layer.name + "/" + type).c_str(),
                                   [shape = layer.shape, pass = pass](benchmark::State& state) { convolution<T>(state, shape, pass); });
    }
  }
  for (const auto& [pass, name] : {std::pair{Pass::forward, "linear"}, std::pair{Pass::data_gradient, "linear_data_gradient"}, std::pair{Pass::weight_gradient, "linear_weight_gradient"}}) {
    benchmark::RegisterBenchmark((std::string(name) + "/64_10/" + type).c_str(), [pass = pass](benchmark::State& state) { linear_layer<T>(state, pass); });
  }
  benchmark::RegisterBenchmark(("softmax_cross_entropy/10/" + type).c_str(), loss<T>);
  register_elementwise<T>(type);
}

}  // namespace

int main(int argc, char** argv) {
  for (const auto& [pass, name] : {std::pair{Pass::forward, "sgemm"}, std::pair{Pass::data_gradient, "sgemm_data_gradient"}, std::pair{Pass::weight_gradient, "sgemm_weight_gradient"}}) {
    for (const Layer& layer : layers) {
      benchmark::RegisterBenchmark((std::string(name) + "/" + layer.name).c_str(), [shape = layer.shape, pass = pass](benchmark::State& state) { sgemm(state, shape, pass); });
    }
  }
  register_type<float>("float32");
  register_type<mezzo::float16>("float16");
  register_type<mezzo::bfloat16>("bfloat16");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
