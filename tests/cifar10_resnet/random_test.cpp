#include "../../examples/cifar10_resnet/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace cifar10;

TEST_CASE("a_draw_depends_on_seed_purpose_round_and_index_alone") {
  static_assert(random_bits(1, Purpose::crop, 2, 3) == random_bits(1, Purpose::crop, 2, 3));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (const Purpose purpose : {Purpose::order, Purpose::crop, Purpose::weights})
      for (std::uint64_t round = 0; round < 8; ++round)
        for (std::uint64_t index = 0; index < 64; ++index) seen.insert(random_bits(seed, purpose, round, index));
  CHECK(seen.size() == 8 * 3 * 8 * 64);
}

TEST_CASE("one_changed_input_bit_changes_each_output_bit_about_half_the_time") {
  // 10,000 fair coins: a share outside 1/2 +- 5 standard deviations (.5 / sqrt(10000) each) has a chance below 1e-6.
  constexpr int draws = 10'000;
  for (int input = 0; input < 64; input += 7) {
    int flips[64] = {};
    for (std::uint64_t i = 0; i < draws; ++i) {
      const auto difference = random_bits(5, Purpose::crop, 0, i) ^ random_bits(5, Purpose::crop, 0, i ^ (1ull << input));
      for (int bit = 0; bit < 64; ++bit) flips[bit] += (difference >> bit) & 1;
    }
    for (const int count : flips) CHECK(std::abs(count / double(draws) - .5) < 5 * .5 / std::sqrt(double(draws)));
  }
}

TEST_CASE("below_covers_its_range_and_never_leaves_it") {
  static_assert(below(0, 7) == 0);
  static_assert(below(~0ull, 7) == 6);
  static_assert(below(~0ull, 1) == 0);
  static_assert(below(~0ull, 0xffffffffu) == 0xfffffffeu);
  static_assert(below(1ull << 63, 10) == 5);
}

TEST_CASE("symmetric_runs_from_minus_1_to_just_below_1") {
  static_assert(symmetric(0) == -1.f);
  static_assert(symmetric(1ull << 63) == 0.f);
  static_assert(symmetric(~0ull) == 1.f - 0x1p-23f);
}

TEST_CASE("an_epoch_visits_every_image_once_in_an_order_of_its_own") {
  for (const std::uint32_t n : {0u, 1u, 2u, 3u, 1000u}) {
    auto order = epoch_order(1, 2, n);
    std::ranges::sort(order);
    for (std::uint32_t i = 0; i < n; ++i) REQUIRE(order[i] == i);
    REQUIRE(order.size() == n);
  }
  CHECK(epoch_order(1, 2, 1000) == epoch_order(1, 2, 1000));
  CHECK(epoch_order(1, 2, 1000) != epoch_order(1, 3, 1000));
  CHECK(epoch_order(1, 2, 1000) != epoch_order(2, 2, 1000));
}

TEST_CASE("every_place_is_equally_likely_for_every_image") {
  // Each of the 24 orders of 4 images is due 1/24 of the time; the count's standard deviation is sqrt(n p (1 - p)).
  constexpr int epochs = 24'000;
  std::vector<int> counts(256);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto order = epoch_order(9, epoch, 4);
    ++counts[order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3]];
  }
  const double p = 1. / 24, deviation = std::sqrt(epochs * p * (1 - p));
  int orders = 0;
  for (const int count : counts)
    if (count != 0) {
      ++orders;
      CHECK(std::abs(count - epochs * p) < 5 * deviation);
    }
  CHECK(orders == 24);
}
