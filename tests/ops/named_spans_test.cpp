#include <mezzo/ops/named_spans.hpp>

#include <array>
#include <cstdint>

#include <doctest/doctest.h>

namespace {

using mezzo::Span;

TEST_CASE("what_is_left_out_is_empty_and_options_are_those_of_torch") {
  CHECK(mezzo::BatchNormRunning<float>{}.mean.size() == 0);
  CHECK(mezzo::BatchNormRunning<float>{}.variance.size() == 0);
  CHECK(mezzo::LossResult<float>{}.loss.size() == 0);
  CHECK(mezzo::LossResult<float>{}.correct.size() == 0);
  const mezzo::BatchNormOptions options;
  CHECK(options.epsilon == 1e-5);
  CHECK(options.momentum == .1);
}

TEST_CASE("each_name_leads_to_its_own_span") {
  std::array<float, 3> one{}, other{};
  std::array<std::int32_t, 1> count{};
  const mezzo::BatchNormWeights<float> weights{.gamma = one, .beta = other};
  CHECK(weights.gamma.data() == one.data());
  CHECK(weights.beta.data() == other.data());
  const mezzo::BatchNormRunning<float> running{.mean = one, .variance = other};
  CHECK(running.mean.data() == one.data());
  CHECK(running.variance.data() == other.data());
  const mezzo::BatchNormSaved<float> saved{.mean = one, .inv_std = other};
  CHECK(saved.mean.data() == one.data());
  CHECK(saved.inv_std.data() == other.data());
  const mezzo::BatchNormSaved<const float> read{.mean = one, .inv_std = other};
  CHECK(read.inv_std.size() == 3);
  const mezzo::BatchNormGradients<float> gradients{.gamma = one, .beta = other};
  CHECK(gradients.gamma.data() == one.data());
  CHECK(gradients.beta.data() == other.data());
  const mezzo::LossResult<float> result{.loss = Span<float>(one.data(), 1), .correct = count};
  CHECK(result.loss.data() == one.data());
  CHECK(result.correct.data() == count.data());
}

}  // namespace
