// The code of docs/ops.md, compiled and run; tests/policy/check_guide.sh compares the two.
#include <mezzo/ops/ops.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace guide {

using namespace mezzo;

using Policy = Autocast<float16>;
constexpr ImageShape image{.batch = 8, .height = 4, .width = 4, .channels = 64};
constexpr LinearShape layer{.batch = 8, .in_features = 64, .out_features = 10};
constexpr ClassificationShape classes{.batch = 8, .classes = 10};

struct Operands {                     // spans of your memory, on the host or on the device
  Span<const float16> x, w;           // [8, 4, 4, 64], [10, 64]
  Span<const float> bias;             // [10]
  Span<const std::int32_t> labels;    // [8]
  Span<float16> pooled, logits;       // [8, 64], [8, 10]
  Span<float16> dlogits;              // [8, 10]    scaled
  Span<float> loss, dw, db;           // [1], [10, 64], [10]
};

template <Executor Where>             // once: HostExecutor executor; or CudaExecutor executor{stream};
Workspace<Where> prepared(const Where& executor) {
  Workspace<Where> workspace{executor, linear_workspace_bytes<float16>(executor, layer)};
  linear_prepare<float16>(workspace, layer);
  softmax_cross_entropy_prepare<float16>(workspace, classes);
  return workspace;
}

template <Executor Where>             // every step: neither waits nor allocates
void step(Workspace<Where>& workspace, const Operands& o, float scale) {
  global_avg_pool2d<Policy>(workspace, image, o.x, o.pooled);             // [8, 64]   float16, averaged in float
  linear<Policy>(workspace, layer, o.pooled, o.w, o.bias, o.logits);      // [8, 10]   float16, summed in float with the bias
  softmax_cross_entropy<Policy>(workspace, classes, o.logits, o.labels, scale, {.loss = o.loss}, o.dlogits);
  linear_weight_gradient<Policy>(workspace, layer, o.pooled, o.dlogits, o.dw);  // [10, 64]  float: the sum unrounded
  linear_bias_gradient<Policy>(workspace, layer, o.dlogits, o.db);        // [10]      float
}

}  // namespace guide

namespace {

using namespace mezzo::test;
using mezzo::float16;

TEST_CASE_TEMPLATE("the_step_of_the_guide_has_the_loss_and_gradients_of_even_odds", Where, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(Where, executor);
  const Buffer<float16> x(executor, std::vector<float16>(8192, mezzo::convert<float16>(1.f))), w(executor, 640), pooled(executor, 512), logits(executor, 80),
      dlogits(executor, 80);
  const Buffer<float> bias(executor, 10), loss(executor, 1), dw(executor, 640), db(executor, 10);
  const Buffer<std::int32_t> labels(executor, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 6});
  auto workspace = guide::prepared(executor);
  guide::step(workspace, {.x = x.span(), .w = w.span(), .bias = bias.span(), .labels = labels.span(), .pooled = pooled.span(), .logits = logits.span(),
                          .dlogits = dlogits.span(), .loss = loss.span(), .dw = dw.span(), .db = db.span()},
              8.f);
  CHECK(std::abs(loss.read()[0] - std::log(10.f)) <= 8 * 0x1p-24f * std::log(10.f));
  // dlogits = 8 / 8 (1/10 - target), each rounded to float16; db is the sum of eight of them, as is dw, whose pixels are 1.
  const auto by_bias = db.read();
  const auto by_weight = dw.read();
  for (std::size_t c = 0; c < 10; ++c) {
    const float expected = .8f - (c == 6 ? 2.f : c < 6 ? 1.f : 0.f);
    CHECK(std::abs(by_bias[c] - expected) <= 8 * 0x1p-11f);
    for (std::size_t i = 0; i < 64; ++i) CHECK(by_weight[c * 64 + i] == by_bias[c]);  // float16 values of two exponents: exact sums
  }
}

}  // namespace
