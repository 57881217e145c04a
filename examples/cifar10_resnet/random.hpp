#pragma once
// Random numbers without state: each draw is a function of (seed, purpose, index). So a draw is the same in every
// precision, on every device and in any order of execution, and a program restarted at step n draws what it would have.

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <mezzo/core/host_device.hpp>

namespace cifar10 {

/// What a draw is for; draws for different purposes are independent.
enum class Purpose : std::uint64_t { order, crop, weights };

/// A bijection of 64-bit integers in which every input bit reaches every output bit.
/// Source: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, with Stafford's constants).
MEZZO_HOST_DEVICE constexpr std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// 64 random bits for draw `index` of round `round` (an epoch, a layer).
MEZZO_HOST_DEVICE constexpr std::uint64_t random_bits(std::uint64_t seed, Purpose purpose, std::uint64_t round,
                                                      std::uint64_t index) {
  constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;   // odd, so that consecutive counters are never equal mod 2^64
  std::uint64_t x = scramble(seed + step);
  x = scramble(x + step * (static_cast<std::uint64_t>(purpose) + 1));
  x = scramble(x + step * (round + 1));
  return scramble(x + step * (index + 1));
}

/// An integer in [0, n) from the upper 32 bits; no value is off its share by more than n / 2^32 of it.
MEZZO_HOST_DEVICE constexpr std::uint32_t below(std::uint64_t bits, std::uint32_t n) {
  return static_cast<std::uint32_t>(((bits >> 32) * n) >> 32);
}

/// A float in [-1, 1) with 24 random bits.
MEZZO_HOST_DEVICE constexpr float symmetric(std::uint64_t bits) {
  return static_cast<float>(static_cast<std::int32_t>(bits >> 40) - (1 << 23)) * (1.f / (1 << 23));
}

/// A random order of 0 .. n-1 for one epoch.
inline std::vector<std::uint32_t> epoch_order(std::uint64_t seed, std::uint64_t epoch, std::uint32_t n) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = n; i > 1; --i)
    std::swap(order[i - 1], order[below(random_bits(seed, Purpose::order, epoch, i), i)]);
  return order;
}

}  // namespace cifar10
