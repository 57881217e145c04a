#include <mezzo/ops/ops.hpp>

#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;

/// A residual block with a strided projection, a pool and a classifier: every op of a ResNet, as a user chains them.
///
///   x [2, 6, 6, 2] -> conv 3x3 -> bn -> relu -> conv 3x3 /2 -> bn ---- add -> relu -> mean -> linear -> loss
///                                      \------ conv 1x1 /2 -> bn ---/
template <class E>
struct Block {
  using P = mezzo::Autocast<mezzo::float16>;  // which leaves double alone
  using Values = Buffer<double>;

  explicit Block(const E& on) : executor(on), workspace(on, 1 << 20) {}

  E executor;
  mezzo::Workspace<E> workspace;
  mezzo::Conv2dShape first{.batch = 2, .height = 6, .width = 6, .in_channels = 2, .out_channels = 3, .kernel = 3, .stride = 1, .padding = 1};
  mezzo::Conv2dShape second{.batch = 2, .height = 6, .width = 6, .in_channels = 3, .out_channels = 4, .kernel = 3, .stride = 2, .padding = 1};
  mezzo::Conv2dShape shortcut{.batch = 2, .height = 6, .width = 6, .in_channels = 3, .out_channels = 4, .kernel = 1, .stride = 2, .padding = 0};
  mezzo::ImageShape wide{.batch = 2, .height = 6, .width = 6, .channels = 3};
  mezzo::ImageShape narrow{.batch = 2, .height = 3, .width = 3, .channels = 4};
  mezzo::LinearShape classifier{.batch = 2, .in_features = 4, .out_features = 3};
  mezzo::ClassificationShape classes{.batch = 2, .classes = 3};

  // Parameters in one row: w1 [54], w2 [108], w3 [12], gamma and beta of three norms [3, 3, 4, 4, 4, 4], wl [12], bl [3].
  static constexpr std::size_t parameters = 54 + 108 + 12 + 22 + 12 + 3;

  double run(const std::vector<double>& values, std::vector<double>* gradients) {
    const Values p(executor, values), g(executor, values.size());
    std::size_t at = 0;
    const auto take = [&](std::size_t size) {
      at += size;
      return at - size;
    };
    const std::size_t w1 = take(54), w2 = take(108), w3 = take(12), gamma1 = take(3), beta1 = take(3), gamma2 = take(4), beta2 = take(4), gamma3 = take(4),
                      beta3 = take(4), wl = take(12), bl = take(3);
    const auto part = [](const Values& all, std::size_t from, std::size_t size) { return all.span().subspan(from, size); };

    const Values x(executor, random_values<double>(144, 11)), dx(executor, 144);
    const Values c1(executor, 216), n1(executor, 216), c2(executor, 72), n2(executor, 72), c3(executor, 72), n3(executor, 72), sum(executor, 72), pooled(executor, 8),
        logits(executor, 6), loss(executor, 1), statistics(executor, 22);
    const Buffer<std::uint8_t> labels(executor, {2, 0});
    const auto norm = [&](const mezzo::ImageShape& shape, const Values& in, std::size_t gamma, std::size_t beta, std::size_t saved, const Values& out) {
      const auto channels = static_cast<std::size_t>(shape.channels);
      mezzo::batch_norm<P>(workspace, shape, in, {.gamma = part(p, gamma, channels), .beta = part(p, beta, channels)}, {},
                           {.mean = part(statistics, saved, channels), .inv_std = part(statistics, saved + channels, channels)}, out, {.epsilon = .1});
    };
    mezzo::conv2d<P>(workspace, first, x, part(p, w1, 54), c1);
    norm(wide, c1, gamma1, beta1, 0, n1);
    mezzo::relu<P>(workspace, n1, n1);
    mezzo::conv2d<P>(workspace, second, n1, part(p, w2, 108), c2);
    norm(narrow, c2, gamma2, beta2, 6, n2);
    mezzo::conv2d<P>(workspace, shortcut, n1, part(p, w3, 12), c3);
    norm(narrow, c3, gamma3, beta3, 14, n3);
    mezzo::add<P>(workspace, n2, n3, sum);
    mezzo::relu<P>(workspace, sum, sum);
    mezzo::global_avg_pool2d<P>(workspace, narrow, sum, pooled);
    mezzo::linear<P>(workspace, classifier, pooled, part(p, wl, 12), part(p, bl, 3), logits);
    const Values dlogits(executor, 6);
    mezzo::softmax_cross_entropy<P>(workspace, classes, logits, labels, 1.f, {.loss = loss.span()}, dlogits);
    if (gradients == nullptr) return loss.read()[0];

    const Values dpooled(executor, 8), dsum(executor, 72), dc2(executor, 72), dc3(executor, 72), dn1(executor, 216);
    const auto back = [&](const mezzo::ImageShape& shape, const Values& in, const Values& dy, std::size_t gamma, std::size_t beta, std::size_t saved, const Values& out) {
      const auto channels = static_cast<std::size_t>(shape.channels);
      mezzo::batch_norm_backward<P>(workspace, shape, in, dy, {.gamma = part(p, gamma, channels), .beta = {}},
                                    {.mean = part(statistics, saved, channels), .inv_std = part(statistics, saved + channels, channels)}, out,
                                    {.gamma = part(g, gamma, channels), .beta = part(g, beta, channels)});
    };
    mezzo::linear_data_gradient<P>(workspace, classifier, dlogits, part(p, wl, 12), dpooled);
    mezzo::linear_weight_gradient<P>(workspace, classifier, pooled, dlogits, part(g, wl, 12));
    mezzo::linear_bias_gradient<P>(workspace, classifier, dlogits, part(g, bl, 3));
    mezzo::global_avg_pool2d_backward<P>(workspace, narrow, dpooled, dsum);
    mezzo::relu_backward<P>(workspace, sum, dsum, dsum);
    back(narrow, c2, dsum, gamma2, beta2, 6, dc2);
    back(narrow, c3, dsum, gamma3, beta3, 14, dc3);
    mezzo::conv2d_weight_gradient<P>(workspace, second, n1, dc2, part(g, w2, 108));
    mezzo::conv2d_weight_gradient<P>(workspace, shortcut, n1, dc3, part(g, w3, 12));
    mezzo::conv2d_data_gradient<P>(workspace, second, dc2, part(p, w2, 108), dn1);
    mezzo::conv2d_data_gradient<P>(workspace, shortcut, dc3, part(p, w3, 12), dn1, Accumulate::yes);  // two branches meet
    mezzo::relu_backward<P>(workspace, n1, dn1, dn1);
    back(wide, c1, dn1, gamma1, beta1, 0, dn1);
    mezzo::conv2d_weight_gradient<P>(workspace, first, x, dn1, part(g, w1, 54));
    *gradients = g.read();
    return loss.read()[0];
  }
};

TEST_CASE_TEMPLATE("a_residual_network_chained_from_all_ops_has_the_gradients_of_its_loss", Where, MEZZO_OPS_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(Where, executor);
  Block<Where> block(executor);
  const auto values = random_values<double>(Block<Where>::parameters, 12);
  std::vector<double> gradients;
  block.run(values, &gradients);
  double size = 0;
  for (const double gradient : gradients) size += std::abs(gradient);
  CHECK(size > 1);  // not all of them died in a rectifier
  check_gradient(values, gradients, 64, [&](const std::vector<double>& at) { return block.run(at, nullptr); });
}

}  // namespace
