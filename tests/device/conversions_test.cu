// Every conversion gives the host's bits on the device, whatever the compiler's floating-point flags are.
#include <random>

#include <mezzo/mezzo.cuh>

#include "device/device.cuh"

namespace {

using namespace mezzo;
using namespace mezzo::test;

/// One value in every type, rounded both ways, as bits; a NaN is replaced by one pattern, since its payload is not kept.
struct Everywhere {
  std::uint64_t f64;
  std::uint32_t f32, f32_saturated;
  std::uint16_t f16, f16_saturated, bf16, bf16_saturated;
  std::uint8_t e4m3, e4m3_saturated, e5m2, e5m2_saturated;
  std::uint32_t unused;  // without it there would be bytes that a copy may leave as they were
};
static_assert(sizeof(Everywhere) == 32);

template <Element To, Overflow OnOverflow, Element From>
MEZZO_HOST_DEVICE typename element_traits<To>::bits_type converted(From value) {
  const To result = convert<To, OnOverflow>(value);
  return is_nan(result) ? element_traits<To>::quiet_nan_bits : to_bits(result);
}

/// to[i] <- the element with the pattern from[i] (or i * stride, without a list), in every type.
template <Element From>
struct ConvertToAll {
  using Bits = typename element_traits<From>::bits_type;
  const Bits* from;
  std::uint64_t first, stride;
  Everywhere* to;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const From value = from_bits<From>(from != nullptr ? from[i] : static_cast<Bits>((first + i) * stride));
    constexpr auto infinite = Overflow::to_infinity;
    constexpr auto saturate = Overflow::saturate;
    Everywhere all{};
    all.f64 = converted<double, infinite>(value);
    all.f32 = converted<float, infinite>(value);
    all.f32_saturated = converted<float, saturate>(value);
    all.f16 = converted<float16, infinite>(value);
    all.f16_saturated = converted<float16, saturate>(value);
    all.bf16 = converted<bfloat16, infinite>(value);
    all.bf16_saturated = converted<bfloat16, saturate>(value);
    all.e4m3 = converted<float8_e4m3, infinite>(value);
    all.e4m3_saturated = converted<float8_e4m3, saturate>(value);
    all.e5m2 = converted<float8_e5m2, infinite>(value);
    all.e5m2_saturated = converted<float8_e5m2, saturate>(value);
    to[i] = all;
  }
};

/// Converts `count` patterns on both executors, a million at a time; says where the bits differ.
template <Element From>
void expect_same(std::uint64_t count, std::uint64_t stride, const std::vector<typename element_traits<From>::bits_type>& list = {}) {
  const HostExecutor host;
  const CudaExecutor device{cudaStream_t{nullptr}};
  constexpr std::uint64_t piece = 1 << 20;
  const DeviceArray<typename element_traits<From>::bits_type> listed(list);
  const DeviceArray<Everywhere> got(std::min(count, piece));
  std::vector<Everywhere> wanted(got.size());
  std::uint64_t differ = 0;
  for (std::uint64_t first = 0; first < count; first += piece) {
    const std::uint64_t size = std::min(piece, count - first);
    const bool named = !list.empty();
    for_each_index(device, size, ConvertToAll<From>{named ? listed.data() + first : nullptr, first, stride, got.data()});
    for_each_index(host, size, ConvertToAll<From>{named ? list.data() + first : nullptr, first, stride, wanted.data()});
    device.wait();
    const std::vector<Everywhere> seen = got.read();
    for (std::uint64_t i = 0; i < size; ++i) {
      if (std::memcmp(&seen[i], &wanted[i], sizeof(Everywhere)) == 0) continue;
      if (++differ <= 5) {
        const auto pattern = named ? list[first + i] : static_cast<typename element_traits<From>::bits_type>((first + i) * stride);
        MESSAGE("pattern ", static_cast<std::uint64_t>(pattern), " of ", std::string(element_traits<From>::name), ": device f64 ", seen[i].f64, " f32 ",
                seen[i].f32, " f16 ", seen[i].f16, " bf16 ", seen[i].bf16, ", host f64 ", wanted[i].f64, " f32 ", wanted[i].f32, " f16 ",
                wanted[i].f16, " bf16 ", wanted[i].bf16);
      }
    }
  }
  CHECK(differ == 0);
}

/// The halfway points between neighbours of a narrow type, of both signs, and `around` steps of `Wide` on either side.
template <Element Narrow, Element Wide>
void append_ties(std::vector<typename element_traits<Wide>::bits_type>& patterns, int around) {
  using Traits = element_traits<Narrow>;
  using Bits = typename element_traits<Wide>::bits_type;
  for (std::uint32_t i = 0; i <= Traits::max_bits; ++i) {
    const double low = convert<double>(from_bits<Narrow>(static_cast<typename Traits::bits_type>(i)));
    const double step = i + 1 <= Traits::max_bits ? convert<double>(from_bits<Narrow>(static_cast<typename Traits::bits_type>(i + 1))) - low
                                                 : low - convert<double>(from_bits<Narrow>(static_cast<typename Traits::bits_type>(i - 1)));
    const Bits tie = to_bits(convert<Wide>(low + step / 2));
    for (int move = -around; move <= around; ++move) {
      const Bits pattern = static_cast<Bits>(tie + static_cast<Bits>(move));
      patterns.push_back(pattern);
      patterns.push_back(static_cast<Bits>(pattern | element_traits<Wide>::sign_mask));
    }
  }
}

TEST_CASE("every_pattern_of_the_16_bit_types_converts_alike_on_host_and_device") {
  MEZZO_NEEDS_DEVICE();
  expect_same<float16>(1 << 16, 1);
  expect_same<bfloat16>(1 << 16, 1);
}

TEST_CASE("every_pattern_of_the_8_bit_types_converts_alike_on_host_and_device") {
  MEZZO_NEEDS_DEVICE();
  expect_same<float8_e4m3>(1 << 8, 1);
  expect_same<float8_e5m2>(1 << 8, 1);
}

TEST_CASE("ten_million_floats_and_all_halfway_points_convert_alike_on_host_and_device") {
  MEZZO_NEEDS_DEVICE();
  constexpr std::uint64_t stride = 429;  // odd, so that all low bits occur; 2^32 / 429 is ten million
  expect_same<float>((std::uint64_t{1} << 32) / stride, stride);
  std::vector<std::uint32_t> ties;
  append_ties<float16, float>(ties, 1);
  append_ties<bfloat16, float>(ties, 1);
  append_ties<float8_e4m3, float>(ties, 1);
  append_ties<float8_e5m2, float>(ties, 1);
  for (std::uint32_t subnormal = 0; subnormal < 10'000; ++subnormal) ties.push_back(subnormal);
  expect_same<float>(ties.size(), 0, ties);
}

TEST_CASE("a_million_doubles_and_all_halfway_points_convert_alike_on_host_and_device") {
  MEZZO_NEEDS_DEVICE();
  std::vector<std::uint64_t> patterns;
  append_ties<float16, double>(patterns, 1);
  append_ties<bfloat16, double>(patterns, 1);
  append_ties<float8_e4m3, double>(patterns, 1);
  append_ties<float8_e5m2, double>(patterns, 1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 500'000; ++i) {
    patterns.push_back(random());
    // and one whose exponent a float has: rounded to 24 bits, among them the subnormal floats
    const std::uint64_t field = 1023 - 155 + random() % 290;
    patterns.push_back((random() & 0x800f'ffff'ffff'ffffU) | (field << 52));
  }
  expect_same<double>(patterns.size(), 0, patterns);
}

}  // namespace
