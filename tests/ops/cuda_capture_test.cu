// Ops in CUDA graphs: what must be planned before, and that a replay gives the bits of a plain run.
#include <mezzo/ops/ops.cuh>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Conv2dShape;
using mezzo::CudaExecutor;
using mezzo::float16;
using mezzo::StateError;
using Policy = mezzo::Autocast<float16>;

/// A stream of its own: the default stream cannot be captured.
struct Stream {
  Stream() { REQUIRE(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking) == cudaSuccess); }
  ~Stream() { static_cast<void>(cudaStreamDestroy(handle)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t handle = nullptr;
};

/// What `work` queues, as a graph ready to run.
class Graph {
 public:
  template <class Work>
  Graph(cudaStream_t stream, Work&& work) {
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    work();
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&instance_, graph, 0) == cudaSuccess);
    REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { static_cast<void>(cudaGraphExecDestroy(instance_)); }
  void replay(cudaStream_t stream) const { REQUIRE(cudaGraphLaunch(instance_, stream) == cudaSuccess); }

 private:
  cudaGraphExec_t instance_ = nullptr;
};

const Conv2dShape shape{.batch = 4, .height = 8, .width = 8, .in_channels = 16, .out_channels = 16, .kernel = 3, .stride = 1, .padding = 1};
const mezzo::ImageShape image{.batch = 4, .height = 8, .width = 8, .channels = 16};
const mezzo::ClassificationShape classes{.batch = 4, .classes = 10};
const mezzo::LinearShape classifier{.batch = 4, .in_features = 16, .out_features = 10};

TEST_CASE("an_op_without_a_plan_is_refused_under_capture_and_so_is_planning") {
  if (!available<CudaExecutor>()) MEZZO_SKIP("no GPU here");
  const Stream stream;
  const CudaExecutor executor{stream.handle};
  mezzo::Workspace workspace{executor, mezzo::conv2d_workspace_bytes<float16>(executor, shape)};
  const Buffer<float16> x(executor, 4 * 64 * 16), w(executor, 16 * 9 * 16), y(executor, 4 * 64 * 16), pooled(executor, 64), weights(executor, 160), logits(executor, 40), dlogits(executor, 40);
  const Buffer<float> loss(executor, 1), channels(executor, 16), none(executor, 0);
  const Buffer<std::int32_t> labels(executor, 4);
  const auto refused = [&](auto&& work) {
    std::string text;
    const Graph graph(stream.handle, [&] { text = message_of<StateError>(work); });
    return text;
  };
  const auto names_the_remedy = [&](const std::string& text, const std::string& op) {
    CHECK(text.find("cuda_capture_test.cu:") == 0);
    CHECK(text.find(op + ": plans must be made before the stream is captured in a graph") != std::string::npos);
  };
  names_the_remedy(refused([&] { mezzo::conv2d<Policy>(workspace, shape, x, w, y); }), "conv2d");
  names_the_remedy(refused([&] { mezzo::conv2d_prepare<float16>(workspace, shape); }), "conv2d_prepare");
  names_the_remedy(refused([&] { mezzo::linear<Policy>(workspace, classifier, pooled, weights, none, logits); }), "linear");
  names_the_remedy(refused([&] { mezzo::linear_prepare<float16>(workspace, classifier); }), "matmul_prepare");
  names_the_remedy(refused([&] { mezzo::batch_norm_prepare<float16>(workspace, image); }), "batch_norm_prepare");
  names_the_remedy(refused([&] { mezzo::cross_entropy<Policy>(workspace, classes, logits, labels, {.loss = loss.span()}); }), "cross_entropy");
  names_the_remedy(refused([&] { mezzo::softmax_cross_entropy<Policy>(workspace, classes, logits, labels, 1.f, {.loss = loss.span()}, dlogits); }), "softmax_cross_entropy");
  names_the_remedy(refused([&] { mezzo::softmax_cross_entropy_prepare<float16>(workspace, classes); }), "softmax_cross_entropy_prepare");
  CHECK(refused([&] { mezzo::softmax_cross_entropy_prepare<float16>(workspace, classes); }).find("softmax_cross_entropy_prepare)") != std::string::npos);
}

TEST_CASE("a_loss_that_was_prepared_and_nothing_else_is_captured_and_replayed") {
  if (!available<CudaExecutor>()) MEZZO_SKIP("no GPU here");
  const Stream stream;
  const CudaExecutor executor{stream.handle};
  mezzo::Workspace workspace{executor, 0}, plain{executor, 0};
  const Buffer<float16> logits(executor, random_values<float16>(40, 1)), dlogits(executor, 40), expected(executor, 40);
  const Buffer<float> loss(executor, 1), expected_loss(executor, 1), alone(executor, 1);
  const Buffer<std::int32_t> labels(executor, std::vector<std::int32_t>{1, 7, 3, 9}), correct(executor, 1);
  mezzo::softmax_cross_entropy<Policy>(plain, classes, logits, labels, 256.f, {.loss = expected_loss.span()}, expected);
  mezzo::softmax_cross_entropy_prepare<float16>(workspace, classes);
  const Graph graph(stream.handle, [&] {
    mezzo::softmax_cross_entropy<Policy>(workspace, classes, logits, labels, 256.f, {loss.span(), correct.span()}, dlogits);
    mezzo::cross_entropy<Policy>(workspace, classes, logits, labels, {.loss = alone.span()});
  });
  for (int replay = 0; replay < 3; ++replay) {
    executor.fill(dlogits.data(), std::byte{0xff}, 40 * sizeof(float16));
    executor.fill(loss.data(), std::byte{0xff}, sizeof(float));
    graph.replay(stream.handle);
    CHECK(bits_of(dlogits.read()) == bits_of(expected.read()));
    CHECK(bits_of(loss.read()) == bits_of(expected_loss.read()));
    CHECK(bits_of(alone.read()) == bits_of(expected_loss.read()));
  }
}

TEST_CASE("a_captured_training_step_replays_to_the_bits_of_a_plain_one") {
  if (!available<CudaExecutor>()) MEZZO_SKIP("no GPU here");
  const Stream stream;
  const CudaExecutor executor{stream.handle};
  mezzo::Workspace workspace{executor, std::max(mezzo::conv2d_workspace_bytes<float16>(executor, shape), mezzo::linear_workspace_bytes<float16>(executor, classifier))};
  const std::size_t count = 4 * 64 * 16;
  const Buffer<float16> x(executor, random_values<float16>(count, 1)), w(executor, random_values<float16>(16 * 9 * 16, 2)), y(executor, count), z(executor, count),
      pooled(executor, 64), weights(executor, random_values<float16>(160, 3)), logits(executor, 40), dlogits(executor, 40), dpooled(executor, 64), dz(executor, count),
      dy(executor, count), dx(executor, count), dw(executor, w.size()), dweights(executor, 160), dshortcut(executor, count);
  const Buffer<float> gamma(executor, std::vector<float>(16, 1)), beta(executor, 16), mean(executor, 16), inverse(executor, 16), dgamma(executor, 16), dbeta(executor, 16),
      bias(executor, random_values<float>(10, 4)), dbias(executor, 10), loss(executor, 1);
  const Buffer<std::int32_t> labels(executor, std::vector<std::int32_t>{1, 7, 3, 9}), correct(executor, 1);
  const auto step = [&] {
    mezzo::conv2d<Policy>(workspace, shape, x, w, y);
    mezzo::batch_norm_add_relu<Policy>(workspace, image, y, x, {.gamma = gamma.span(), .beta = beta.span()}, {}, {.mean = mean.span(), .inv_std = inverse.span()}, z);
    mezzo::global_avg_pool2d<Policy>(workspace, image, z, pooled);
    mezzo::linear<Policy>(workspace, classifier, pooled, weights, bias, logits);
    mezzo::softmax_cross_entropy<Policy>(workspace, classes, logits, labels, 256.f, {loss.span(), correct.span()}, dlogits);
    mezzo::linear_weight_gradient<Policy>(workspace, classifier, pooled, dlogits, dweights);
    mezzo::linear_bias_gradient<Policy>(workspace, classifier, dlogits, dbias);
    mezzo::linear_data_gradient<Policy>(workspace, classifier, dlogits, weights, dpooled);
    mezzo::global_avg_pool2d_backward<Policy>(workspace, image, dpooled, dz);
    mezzo::batch_norm_add_relu_backward<Policy>(workspace, image, y, z, dz, mezzo::Span<float16>{}, {.gamma = gamma.span(), .beta = beta.span()},
                                                {.mean = mean.span(), .inv_std = inverse.span()}, dy, dshortcut, {.gamma = dgamma.span(), .beta = dbeta.span()});
    mezzo::conv2d_weight_gradient<Policy>(workspace, shape, x, dy, dw);
    mezzo::conv2d_data_gradient<Policy>(workspace, shape, dy, w, dx);
  };
  mezzo::conv2d_prepare<float16>(workspace, shape);
  mezzo::batch_norm_prepare<float16>(workspace, image);
  mezzo::linear_prepare<float16>(workspace, classifier);
  mezzo::softmax_cross_entropy_prepare<float16>(workspace, classes);
  const Graph graph(stream.handle, step);
  const auto results = [&] {
    return std::tuple(bits_of(dx.read()), bits_of(dw.read()), bits_of(dweights.read()), bits_of(dbias.read()), bits_of(dgamma.read()), bits_of(dbeta.read()), bits_of(loss.read()),
                      correct.read());
  };
  step();
  const auto plain = results();
  for (int replay = 0; replay < 3; ++replay) {
    executor.fill(dx.data(), std::byte{0xff}, count * sizeof(float16));
    graph.replay(stream.handle);
    CHECK(results() == plain);
  }
}

TEST_CASE("a_workspace_of_a_second_stream_works_beside_the_first") {
  if (!available<CudaExecutor>()) MEZZO_SKIP("no GPU here");
  const Stream one, other;
  const CudaExecutor first{one.handle}, second{other.handle};
  mezzo::Workspace a{first, mezzo::conv2d_workspace_bytes<float16>(first, shape)}, b{second, mezzo::conv2d_workspace_bytes<float16>(second, shape)};
  const Buffer<float16> x(first, random_values<float16>(4 * 64 * 16, 1)), w(first, random_values<float16>(16 * 9 * 16, 2)), y(first, x.size()), z(first, x.size());
  for (int i = 0; i < 8; ++i) {
    mezzo::conv2d<Policy>(a, shape, x, w, y);
    mezzo::conv2d<Policy>(b, shape, x, w, z);
  }
  second.wait();
  CHECK(bits_of(y.read()) == bits_of(z.read()));
}

}  // namespace
