// A traced policy counts mezzo's own ops: which ran, forward and backward, in which types.
#include <mezzo/policy/traced.hpp>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Autocast;
using mezzo::bfloat16;
using mezzo::CastRule;
using mezzo::clear_trace;
using mezzo::float16;
using mezzo::trace_text;
using mezzo::Traced;

/// A net of one convolution with batch norm and ReLU, a mean over the pixels and a linear layer; data in Low, batch 2.
template <class E, class Low>
struct Net {
  explicit Net(const E& on)
      : executor(on),
        workspace(on, std::max({mezzo::conv2d_workspace_bytes<Low>(on, conv), mezzo::batch_norm_workspace_bytes<Low>(on, image),
                                mezzo::linear_workspace_bytes<Low>(on, head)})) {}

  template <class T>
  Buffer<T> values(std::size_t count) const {
    return Buffer<T>(executor, random_values<T>(count, static_cast<unsigned>(count)));
  }

  static constexpr mezzo::Conv2dShape conv{.batch = 2, .height = 4, .width = 4, .in_channels = 3, .out_channels = 8, .kernel = 3, .padding = 1};
  static constexpr mezzo::ImageShape image{.batch = 2, .height = 4, .width = 4, .channels = 8};
  static constexpr mezzo::LinearShape head{.batch = 2, .in_features = 8, .out_features = 5};
  static constexpr mezzo::ClassificationShape classes{.batch = 2, .classes = 5};
  E executor;
  mezzo::Workspace<E> workspace;
  Buffer<Low> x = values<Low>(2 * 4 * 4 * 3), w = values<Low>(8 * 3 * 3 * 3), dw = values<Low>(8 * 3 * 3 * 3), v = values<Low>(5 * 8);
  Buffer<Low> y = values<Low>(2 * 4 * 4 * 8), dy = values<Low>(2 * 4 * 4 * 8), h = values<Low>(2 * 4 * 4 * 8), dh = values<Low>(2 * 4 * 4 * 8);
  Buffer<Low> pooled = values<Low>(2 * 8), dpooled = values<Low>(2 * 8), logits = values<Low>(2 * 5), dlogits = values<Low>(2 * 5);
  Buffer<float> gamma = values<float>(8), beta = values<float>(8), dgamma = values<float>(8), dbeta = values<float>(8), mean = values<float>(8),
                inverse = values<float>(8), bias = values<float>(5), dbias = values<float>(5), dv = values<float>(5 * 8), loss = values<float>(1);
  Buffer<int> labels = Buffer<int>(executor, std::vector<int>{3, 0});
};

/// What a user writes, whatever the policy.
template <class Policy, class E, class Low>
void train_step(Net<E, Low>& n) {
  const mezzo::BatchNormWeights<float> weights{.gamma = n.gamma.span(), .beta = n.beta.span()};
  mezzo::conv2d<Policy>(n.workspace, n.conv, n.x, n.w, n.y);
  mezzo::batch_norm_relu<Policy>(n.workspace, n.image, n.y, weights, {}, {.mean = n.mean.span(), .inv_std = n.inverse.span()}, n.h);
  mezzo::global_avg_pool2d<Policy>(n.workspace, n.image, n.h, n.pooled);
  mezzo::linear<Policy>(n.workspace, n.head, n.pooled, n.v, n.bias, n.logits);
  mezzo::softmax_cross_entropy<Policy>(n.workspace, n.classes, n.logits, n.labels, 1024.f, {.loss = n.loss.span(), .correct = {}}, n.dlogits);
  mezzo::linear_weight_gradient<Policy>(n.workspace, n.head, n.pooled, n.dlogits, n.dv);
  mezzo::linear_bias_gradient<Policy>(n.workspace, n.head, n.dlogits, n.dbias);
  mezzo::linear_data_gradient<Policy>(n.workspace, n.head, n.dlogits, n.v, n.dpooled);
  mezzo::global_avg_pool2d_backward<Policy>(n.workspace, n.image, n.dpooled, n.dh);
  mezzo::batch_norm_relu_backward<Policy>(n.workspace, n.image, n.y, n.h, n.dh, weights, {.mean = n.mean.span(), .inv_std = n.inverse.span()},
                                          n.dy, {.gamma = n.dgamma.span(), .beta = n.dbeta.span()});
  mezzo::conv2d_weight_gradient<Policy>(n.workspace, n.conv, n.x, n.dy, n.dw);
  n.executor.wait();
}

/// Runs `call` and returns what was counted.
template <class Call>
std::string counted(Call&& call) {
  clear_trace();
  call();
  return trace_text();
}

TEST_CASE_TEMPLATE("a_training_step_is_counted_op_by_op_with_the_types_that_were_read_and_written", E, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Net<E, float16> net(executor);
  CHECK(counted([&] { train_step<Traced<Autocast<float16>>>(net); }) ==
        "1 x conv2d (lower_precision): float16, float16 -> float16, float16 -> float16\n"
        "1 x batch_norm (pass_through): float16, float32 -> float16, float32 -> float16\n"
        "1 x relu (pass_through): float16 -> float16 -> float16\n"
        "1 x adaptive_avg_pool2d (pass_through): float16 -> float16 -> float16\n"
        "1 x linear (lower_precision): float16, float16 -> float16, float16 -> float16\n"
        "1 x cross_entropy (float32): float16, int32 -> float32, int32 -> float32\n"
        "1 x cross_entropy backward (float32): float16, int32 -> float32, int32 -> float16\n"
        "1 x linear weight_gradient (lower_precision): float16, float16 -> float16, float16 -> float32\n"
        "1 x linear bias_gradient (float32_output): float16 -> float16 -> float32\n"
        "1 x linear data_gradient (lower_precision): float16, float16 -> float16, float16 -> float16\n"
        "1 x adaptive_avg_pool2d backward (pass_through): float16 -> float16 -> float16\n"
        "1 x relu backward (pass_through): float16, float16 -> float16, float16 -> float16\n"
        "1 x batch_norm backward (pass_through): float16, float16, float32 -> float16, float16, float32 -> float16\n"
        "1 x conv2d weight_gradient (lower_precision): float16, float16 -> float16, float16 -> float16\n");
}

TEST_CASE_TEMPLATE("the_lines_of_the_guide_print_the_counts", E, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Net<E, float16> net(executor);
  clear_trace();
  std::ostringstream printed;
  std::streambuf* const terminal = std::cout.rdbuf(printed.rdbuf());
  train_step<Traced<Autocast<float16>>>(net);   // Autocast<float16> stood here
  std::cout << trace_text();
  std::cout.rdbuf(terminal);
  CHECK(printed.str() == trace_text());
}

TEST_CASE_TEMPLATE("counting_changes_no_bit_of_the_results_and_an_untraced_policy_counts_nothing", E, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  Net<E, bfloat16> traced(executor), plain(executor);
  train_step<Traced<Autocast<bfloat16>>>(traced);
  CHECK(counted([&] { train_step<Autocast<bfloat16>>(plain); }).empty());
  CHECK(bits_of(traced.dw.read()) == bits_of(plain.dw.read()));
  CHECK(bits_of(traced.dv.read()) == bits_of(plain.dv.read()));
  CHECK(bits_of(traced.loss.read()) == bits_of(plain.loss.read()));
}

TEST_CASE_TEMPLATE("every_other_op_is_counted_too", E, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  using P = Traced<Autocast<float16>>;
  Net<E, float16> n(executor);
  const mezzo::Pool2dShape pool{.batch = 2, .height = 4, .width = 4, .channels = 8};
  const mezzo::BatchNormWeights<float> weights{.gamma = n.gamma.span(), .beta = n.beta.span()};
  const mezzo::BatchNormRunning<const float> running{.mean = n.mean.span(), .variance = n.gamma.span()};
  const mezzo::BatchNormSaved<float> saved{.mean = n.mean.span(), .inv_std = n.inverse.span()};
  const mezzo::BatchNormSaved<const float> read{.mean = n.mean.span(), .inv_std = n.inverse.span()};
  const mezzo::BatchNormGradients<float> gradients{.gamma = n.dgamma.span(), .beta = n.dbeta.span()};
  const Buffer<float16> small = n.template values<float16>(2 * 2 * 2 * 8), wide = n.template values<float16>(2 * 4 * 4 * 8);
  Buffer<float> sum(executor, 2 * 5);
  const std::string norm = "1 x batch_norm (pass_through): float16, float32 -> float16, float32 -> float16\n";
  const std::string add = "1 x add (promote): float16, float16 -> float16, float16 -> float16\n";
  const std::string relu = "1 x relu (pass_through): float16 -> float16 -> float16\n";
  const std::string relu_backward = "1 x relu backward (pass_through): float16, float16 -> float16, float16 -> float16\n";
  const std::string norm_backward = "1 x batch_norm backward (pass_through): float16, float16, float32 -> float16, float16, float32 -> float16\n";
  const auto check = [&](const std::vector<std::string>& lines, auto&& call) {
    std::string text = counted(call);
    for (const std::string& line : lines) {
      CAPTURE(line);
      REQUIRE(text.find(line) != std::string::npos);
      text.erase(text.find(line), line.size());
    }
    CHECK(text == "");
  };

  check({"1 x matmul (lower_precision): float16, float16 -> float16, float16 -> float32\n"},
        [&] { mezzo::matmul<P>(n.workspace, {.m = 2, .n = 5, .k = 8, .transpose_b = mezzo::Transpose::yes}, n.pooled, n.v, sum); });
  check({"1 x conv2d data_gradient (lower_precision): float16, float16 -> float16, float16 -> float16\n"},
        [&] { mezzo::conv2d_data_gradient<P>(n.workspace, n.conv, n.dy, n.w, n.x); });
  check({add}, [&] { mezzo::add<P>(n.workspace, n.y, n.h, n.y); });
  check({"1 x add (promote): float16, float32 -> float32, float32 -> float32\n"}, [&] { mezzo::add<P>(n.workspace, n.logits, sum, sum); });
  check({relu}, [&] { mezzo::relu<P>(n.workspace, n.y, n.h); });
  check({relu_backward}, [&] { mezzo::relu_backward<P>(n.workspace, n.h, n.dh, n.dy); });
  check({"1 x max_pool2d (pass_through): float16 -> float16 -> float16\n"}, [&] { mezzo::max_pool2d<P>(n.workspace, pool, n.y, small); });
  check({"1 x max_pool2d backward (pass_through): float16, float16 -> float16, float16 -> float16\n"},
        [&] { mezzo::max_pool2d_backward<P>(n.workspace, pool, n.y, small, n.dy); });
  check({"1 x avg_pool2d (pass_through): float16 -> float16 -> float16\n"}, [&] { mezzo::avg_pool2d<P>(n.workspace, pool, n.y, small); });
  check({"1 x avg_pool2d backward (pass_through): float16 -> float16 -> float16\n"},
        [&] { mezzo::avg_pool2d_backward<P>(n.workspace, pool, small, n.dy); });
  check({"1 x cross_entropy (float32): float16, int32 -> float32, int32 -> float32\n"},
        [&] { mezzo::cross_entropy<P>(n.workspace, n.classes, n.logits, n.labels, {.loss = n.loss.span(), .correct = {}}); });
  check({norm}, [&] { mezzo::batch_norm<P>(n.workspace, n.image, n.y, weights, {}, saved, n.h); });
  check({norm}, [&] { mezzo::batch_norm_inference<P>(n.workspace, n.image, n.y, weights, running, n.h); });
  check({norm_backward}, [&] { mezzo::batch_norm_backward<P>(n.workspace, n.image, n.y, n.dh, weights, read, n.dy, gradients); });
  check({norm, relu}, [&] { mezzo::batch_norm_relu_inference<P>(n.workspace, n.image, n.y, weights, running, n.h); });
  check({norm, add, relu}, [&] { mezzo::batch_norm_add_relu<P>(n.workspace, n.image, n.y, wide, weights, {}, saved, n.h); });
  check({norm, add, relu}, [&] { mezzo::batch_norm_add_relu_inference<P>(n.workspace, n.image, n.y, wide, weights, running, n.h); });
  const mezzo::Span<float16> none;
  check({relu_backward, norm_backward},
        [&] { mezzo::batch_norm_add_relu_backward<P>(n.workspace, n.image, n.y, n.h, n.dh, none, weights, read, n.dy, n.dh, gradients); });
  check({add, relu_backward, norm_backward},
        [&] { mezzo::batch_norm_add_relu_backward<P>(n.workspace, n.image, n.y, n.h, n.dh, wide, weights, read, n.dy, n.dh, gradients); });
  executor.wait();
}

TEST_CASE_TEMPLATE("a_call_that_had_nothing_to_do_or_threw_is_not_counted", E, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  using P = Traced<Autocast<float16>>;
  mezzo::Workspace<E> workspace{executor, 0};
  const Buffer<float16> none(executor, 0), one(executor, 1), two(executor, 2);
  CHECK(counted([&] { mezzo::relu<P>(workspace, none, none); }).empty());
  CHECK(counted([&] { mezzo::global_avg_pool2d<P>(workspace, {.batch = 0, .height = 1, .width = 1, .channels = 1}, none, none); }).empty());
  CHECK(counted([&] { CHECK_THROWS_AS(mezzo::relu<P>(workspace, one, two), mezzo::InvalidArgument); }).empty());
}

TEST_CASE_TEMPLATE("regions_and_overrides_of_a_traced_policy_run_ops_and_say_their_rule", E, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  using P = Traced<Autocast<float16>>;
  using InFloat = mezzo::with_t<P, mezzo::op::conv2d, CastRule::float32>;
  Net<E, float> n(executor);
  CHECK(counted([&] { mezzo::conv2d<P::disabled>(n.workspace, n.conv, n.x, n.w, n.y); }) ==
        "1 x conv2d (pass_through): float32, float32 -> float32, float32 -> float32\n");
  CHECK(counted([&] { mezzo::conv2d<InFloat>(n.workspace, n.conv, n.x, n.w, n.y); }) ==
        "1 x conv2d (float32): float32, float32 -> float32, float32 -> float32\n");
  executor.wait();
}

}  // namespace
