#include "../../examples/cifar10_resnet/resnet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <mezzo/executor/host.hpp>

using namespace cifar10;
using mezzo::Autocast;

namespace {

/// A network with its weights set and a batch of random images in it.
template <class Policy, class Gradient = low_t<Policy>, class Wide = float>
struct Case {
  using Net = ResNet<Policy, mezzo::HostExecutor, Gradient, Wide>;
  using Low = typename Net::Low;
  mezzo::HostExecutor executor;
  Storage storage{executor};
  Net net;

  Case(const Architecture& shape, std::size_t batch, std::uint64_t seed = 1) : net(executor, storage, shape, batch) {
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      const auto values = net.initial_values(i, seed);
      const auto& model = net.parameters()[i].model;
      for (std::size_t j = 0; j < values.size(); ++j)
        if (model.type() == mezzo::element_type_of<Low>)
          static_cast<Low*>(model.data())[j] = mezzo::convert<Low>(values[j]);
        else
          static_cast<Wide*>(model.data())[j] = values[j];
    }
    for (std::size_t j = 0; j < net.images().size(); ++j)
      net.images()[j] = mezzo::convert<Low>(2.f * symmetric(random_bits(seed, Purpose::crop, 0, j)));
    for (std::size_t n = 0; n < batch; ++n) net.labels()[n] = static_cast<std::int32_t>((n * 7 + 3) % classes);
  }
  void pass(float scale = 1.f, std::int64_t mean_over = 0, Accumulate accumulate = Accumulate::no) {
    net.forward(true);
    net.compute_loss(scale, mean_over, accumulate);
    net.backward(accumulate);
  }
  template <class T>
  std::vector<float> gradient(std::size_t i) const {
    std::vector<float> values;
    for (const T value : net.parameters()[i].gradient.template as<T>()) values.push_back(mezzo::convert<float>(value));
    return values;
  }
  std::size_t parameter_count() const {
    std::size_t count = 0;
    for (const auto& parameter : net.parameters()) count += parameter.model.size();
    return count;
  }
};
const Architecture tiny{{4, 6}, {1, 2}};   // all kinds of block: same shape, other stride, other channels

}  // namespace

TEST_CASE("the_three_depths_have_the_published_numbers_of_parameters") {
  // 0.27 M for 20 layers (He et al.) with two projections; 11.17 M and 62 tensors for 18.
  CHECK(Case<Autocast<float>>(architecture(8), 1).parameter_count() == 78'042);
  CHECK(Case<Autocast<float>>(architecture(20), 1).parameter_count() == 272'474);
  const Case<Autocast<float>> deepest(architecture(18), 1);
  CHECK(deepest.parameter_count() == 11'173'962);
  CHECK(deepest.net.parameters().size() == 62);
}

TEST_CASE("weights_decay_and_batch_norm_and_bias_do_not") {
  const Case<Autocast<mezzo::float16>> c(architecture(8), 1);
  for (const auto& parameter : c.net.parameters()) {
    const bool weight = parameter.name.ends_with(".convolution") || parameter.name.ends_with(".weight");
    CHECK(parameter.group == (weight ? 0u : 1u));
    CHECK(parameter.model.type() == (weight ? mezzo::ElementType::f16 : mezzo::ElementType::f32));
    CHECK(parameter.gradient.type() == parameter.model.type());
  }
}

TEST_CASE("first_values_follow_from_seed_and_parameter_and_stay_within_the_bound") {
  const Case<Autocast<float>> c(architecture(8), 1);
  CHECK(c.net.initial_values(0, 1) == c.net.initial_values(0, 1));
  CHECK(c.net.initial_values(0, 1) != c.net.initial_values(0, 2));
  std::set<std::vector<float>> different;
  int convolutions = 0;
  for (std::size_t i = 0; i < c.net.parameters().size(); ++i) {
    if (!c.net.parameters()[i].name.ends_with(".convolution")) continue;
    ++convolutions;
    std::vector<float> values = c.net.initial_values(i, 1);
    different.insert({values.begin(), values.begin() + 32});
    if (c.net.parameters()[i].name != "stage3.block1.second.convolution") continue;
    // Uniform in +-b with b^2 = 6 / fan-in: variance b^2 / 3; of n squares the mean's deviation is sqrt(4 b^4 / 45 n).
    const double n = static_cast<double>(values.size()), b2 = 6. / (64 * 9);
    REQUIRE(values.size() == 64 * 64 * 9);
    double squares = 0.;
    for (const float value : values) {
      CHECK(static_cast<double>(std::abs(value)) <= std::sqrt(b2) * (1 + 0x1p-22));   // two roundings to float
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    CHECK(std::abs(squares / n - b2 / 3) < 5 * std::sqrt(4 * b2 * b2 / 45 / n));
  }
  CHECK(convolutions == 9);
  CHECK(different.size() == 9);
}

TEST_CASE("further_channels_of_zeros_change_no_number_and_their_weights_get_no_gradient") {
  const mezzo::HostExecutor executor;
  Storage storage{executor};
  using Net = ResNet<Autocast<float>>;
  Net three(executor, storage, tiny, 2), eight(executor, storage, tiny, 2, 8);
  for (Net* const net : {&three, &eight}) {
    for (std::size_t i = 0; i < net->parameters().size(); ++i)
      std::ranges::copy(net->initial_values(i, 1), net->parameters()[i].model.as<float>().begin());
    const std::size_t stored = net->images().size() / (2 * side * side);
    for (std::size_t pixel = 0; pixel < 2 * side * side; ++pixel)
      for (std::size_t c = 0; c < channels; ++c)
        net->images()[pixel * stored + c] = symmetric(random_bits(1, Purpose::crop, pixel, c));
    net->labels()[0] = 3, net->labels()[1] = 8;
    net->forward(true);
    net->compute_loss(1.f, 0);
    net->backward();
  }
  // Zeros change no sum, but a library may add the terms of 27 products and of 72 in another order: each of the few stages
  // behind the stem, with its division by a deviation of about 1, carries on the stem's 72 roundings.
  CHECK(std::abs(three.loss()[0] - eight.loss()[0]) <= 72 * 16 * 0x1p-24f * std::abs(three.loss()[0]));
  const Span<float> weights = eight.parameters()[0].model.as<float>(), gradients = eight.parameters()[0].gradient.as<float>();
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const std::size_t c = j % 8;
    if (c < channels) CHECK(weights[j] == three.parameters()[0].model.as<float>()[j / 8 * channels + c]);
    if (c >= channels) CHECK((weights[j] == 0.f && gradients[j] == 0.f));
  }
}

TEST_CASE("gradients_match_central_differences_in_float64") {
  Case<Autocast<float>, double, double> c(tiny, 3);
  c.pass();
  const double loss = c.net.loss()[0];
  CHECK(std::abs(loss - std::log(10.)) < 2.);   // not far from guessing
  const auto loss_at = [&](double& weight, double value) {
    const double kept = std::exchange(weight, value);
    c.net.forward(true);
    c.net.compute_loss(1.f, 0);
    weight = kept;
    return c.net.loss()[0];
  };
  for (std::size_t i = 0; i < c.net.parameters().size(); ++i) {
    const auto& parameter = c.net.parameters()[i];
    double* const weights = static_cast<double*>(parameter.model.data());
    const double* const gradient = static_cast<const double*>(parameter.gradient.data());
    for (std::size_t j = 0; j < parameter.model.size(); j += 1 + parameter.model.size() / 5) {
      const double h = 0x1p-24, w = weights[j];
      const double coarse = (loss_at(weights[j], w + h) - loss_at(weights[j], w - h)) / (2 * h);
      const double fine = (loss_at(weights[j], w + h / 2) - loss_at(weights[j], w - h / 2)) / h;
      // Halving h takes a quarter of the truncation error away, so |coarse - fine| exceeds what fine still has, a kink of
      // ReLU between the points included. The two losses of fine are each off by a few units of 2^-53 for each of the
      // network's 20 or so stages.
      const double rounding = 2 * 64 * 0x1p-53 * loss / h;
      CHECK_MESSAGE(std::abs(gradient[j] - fine) <= std::abs(coarse - fine) + rounding, parameter.name, "[", j, "]: ", gradient[j],
                    " against ", fine, " and ", coarse);
    }
  }
}

TEST_CASE("a_scale_that_is_a_power_of_two_multiplies_every_gradient_exactly") {
  Case<Autocast<float>> a(tiny, 4), b(tiny, 4);
  a.pass();
  b.pass(1024.f);
  CHECK(a.net.loss()[0] == b.net.loss()[0]);   // the loss itself is never scaled
  for (std::size_t i = 0; i < a.net.parameters().size(); ++i) {
    const auto plain = a.gradient<float>(i), scaled = b.gradient<float>(i);
    for (std::size_t j = 0; j < plain.size(); ++j) REQUIRE(scaled[j] == 1024.f * plain[j]);
  }
}

TEST_CASE("the_gradients_of_several_passes_add_up_to_those_of_their_mean") {
  Case<Autocast<float>, double, double> once(tiny, 4), twice(tiny, 4);
  once.pass(4096.f);
  twice.pass(4096.f, 8, Accumulate::no);
  twice.pass(4096.f, 8, Accumulate::yes);
  CHECK(twice.net.loss()[0] == once.net.loss()[0]);
  CHECK(twice.net.correct()[0] == 2 * once.net.correct()[0]);
  for (std::size_t i = 0; i < once.net.parameters().size(); ++i) {
    const auto& parameter = once.net.parameters()[i];
    const double* const expected = static_cast<const double*>(parameter.gradient.data());
    const double* const got = static_cast<const double*>(twice.net.parameters()[i].gradient.data());
    double largest = 0.;
    for (std::size_t j = 0; j < parameter.model.size(); ++j) largest = std::max(largest, std::abs(expected[j]));
    REQUIRE(largest > 0.);
    // Sums of 4 * 1024 terms and twice as many, each off by its number of terms times 2^-53 of the terms' magnitudes, which
    // may exceed the largest sum 2^10 times over.
    for (std::size_t j = 0; j < parameter.model.size(); ++j)
      REQUIRE(std::abs(got[j] - expected[j]) <= 3 * 4096 * 0x1p-53 * 0x1p10 * largest);
  }
}

TEST_CASE("inference_treats_every_image_alone") {
  Case<Autocast<mezzo::float16>> c(tiny, 4);
  c.pass();   // running statistics
  c.net.forward(false);
  const std::vector<mezzo::float16> before(c.net.logits().begin(), c.net.logits().end());
  for (std::size_t j = image_bytes; j < c.net.images().size(); ++j) c.net.images()[j] = mezzo::convert<mezzo::float16>(0.f);
  c.net.forward(false);
  bool others_changed = false;
  for (std::size_t j = 0; j < before.size(); ++j) {
    const bool same = mezzo::convert<float>(c.net.logits()[j]) == mezzo::convert<float>(before[j]);
    if (j < classes) CHECK(same);
    others_changed = others_changed || (j >= classes && !same);
  }
  CHECK(others_changed);
}

TEST_CASE("a_16_bit_network_holds_half_the_bytes_in_weights_gradients_and_activations") {
  const std::size_t batch = 5;
  const Case<Autocast<float>> wide(architecture(8), batch);
  const Case<Autocast<mezzo::bfloat16>> narrow(architecture(8), batch);
  // What stays float: gamma, beta, running mean and variance, mean and deviation of 9 batch norms (336 channels), bias, loss.
  const std::uint64_t channels_of_norms = 16 * 3 + 32 * 3 + 64 * 3;
  const auto& w = wide.storage.bytes();
  const auto& n = narrow.storage.bytes();
  const std::uint64_t float_weights = 4 * (4 * channels_of_norms + 10), float_gradients = 4 * (2 * channels_of_norms + 10);
  const std::uint64_t float_activations = 4 * (2 * channels_of_norms + 1 + 1 + batch);   // and labels, loss and count
  CHECK(w[Use::weights] == 4 * (78'042 + 2 * channels_of_norms));
  CHECK(2 * (n[Use::weights] - float_weights) == w[Use::weights] - float_weights);
  CHECK(2 * (n[Use::gradients] - float_gradients) == w[Use::gradients] - float_gradients);
  CHECK(2 * (n[Use::activations] - float_activations) == w[Use::activations] - float_activations);
  CHECK(2 * n[Use::activation_gradients] == w[Use::activation_gradients]);
  // Images; stem and first stage: 2 + 2 * 2 maps of 16 x 32 x 32; then 5 maps of 32 x 16 x 16 and of 64 x 8 x 8; pool, logits.
  const std::uint64_t maps = batch * (3072 + 6 * 16384 + 5 * 8192 + 5 * 4096 + 64 + 10);
  CHECK(w[Use::activations] == 4 * maps + float_activations);
}

TEST_CASE("the_observer_sees_the_gradients_of_weights_and_activations_once") {
  Case<Autocast<mezzo::float16>> c(tiny, 2);
  c.net.forward(true);
  c.net.compute_loss(1.f, 0);
  std::vector<const void*> seen;
  std::size_t elements = 0;
  c.net.backward(Accumulate::no, [&](Span<mezzo::float16> gradient) {
    seen.push_back(gradient.data());
    elements += gradient.size();
  });
  std::size_t weights = 0;
  for (const auto& parameter : c.net.parameters())
    if (parameter.group == 0) {
      weights += parameter.model.size();
      CHECK(std::ranges::count(seen, parameter.gradient.data()) == 1);
    }
  // By what comes out of: convolutions, both ReLUs of a block, the block's input (past its convolutions); pool, logits. Not by
  // bias, gamma and beta.
  const std::size_t large = 4 * 32 * 32, small = 6 * 16 * 16;
  const std::size_t stem = large, block1 = 5 * large, block2 = 5 * small + large, block3 = 5 * small;
  CHECK(elements == weights + 2 * (stem + block1 + block2 + block3 + 6 + 10));
}

TEST_CASE("without_scaling_a_float16_backward_pass_loses_gradients_that_scaling_keeps") {
  // The gradient of a mean over many images is small: here over 65536, of which 8 are in the batch.
  Case<Autocast<float>> exact(architecture(8), 8);
  Case<Autocast<mezzo::float16>> plain(architecture(8), 8), scaled(architecture(8), 8);
  exact.pass(1.f, 65536);
  plain.pass(1.f, 65536);
  scaled.pass(65536.f, 65536);
  std::size_t seen = 0, lost_plain = 0, lost_scaled = 0;
  for (std::size_t i = 0; i < exact.net.parameters().size(); ++i) {
    if (exact.net.parameters()[i].group != 0) continue;
    const auto g = exact.gradient<float>(i), p = plain.gradient<mezzo::float16>(i), s = scaled.gradient<mezzo::float16>(i);
    for (std::size_t j = 0; j < g.size(); ++j) {
      if (g[j] == 0.f) continue;
      ++seen;
      lost_plain += p[j] == 0.f;
      lost_scaled += s[j] == 0.f;
    }
  }
  MESSAGE("lost of ", seen, ": ", lost_plain, " without scaling, ", lost_scaled, " with a scale of 65536");
  CHECK(seen > 70'000);
  CHECK(lost_plain > seen / 100);
  CHECK(lost_scaled * 100 < lost_plain);
}
