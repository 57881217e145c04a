// Conversions against a reference that shares no code with them: tests/numeric/reference.hpp.
#include <mezzo/numeric/convert.hpp>

#include <cfenv>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "numeric/reference.hpp"
#include "support/executors.hpp"

// Named: nvcc loses types of an unnamed namespace that is nested, as the macros of doctest nest one.
namespace convert_test {

using mezzo::bfloat16;
using mezzo::convert;
using mezzo::element_traits;
using mezzo::float16;
using mezzo::float8_e4m3;
using mezzo::float8_e5m2;
using mezzo::from_bits;
using mezzo::Overflow;
using mezzo::to_bits;
using mezzo::test::Buffer;

template <class T>
using Bits = typename element_traits<T>::bits_type;

template <class T>
constexpr reference::Format format_of() {
  if constexpr (std::is_same_v<T, float16>) return reference::f16;
  if constexpr (std::is_same_v<T, bfloat16>) return reference::bf16;
  if constexpr (std::is_same_v<T, float8_e4m3>) return reference::e4m3;
  if constexpr (std::is_same_v<T, float8_e5m2>) return reference::e5m2;
  if constexpr (std::is_same_v<T, float>) return reference::f32;
  if constexpr (std::is_same_v<T, double>) return reference::f64;
}

/// Converts first, first + stride, ... read as bit patterns.
template <class From, class To, Overflow OnOverflow>
struct ConvertRange {
  std::uint64_t first, stride;
  Bits<To>* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    out[i] = to_bits(convert<To, OnOverflow>(from_bits<From>(static_cast<Bits<From>>(first + i * stride))));
  }
};
template <class From, class To, Overflow OnOverflow>
struct ConvertList {
  const Bits<From>* in;
  Bits<To>* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const { out[i] = to_bits(convert<To, OnOverflow>(from_bits<From>(in[i]))); }
};

/// Compares patterns, NaNs by class, and keeps the first difference for the report.
template <class From, class To>
class Comparison {
 public:
  void add(std::uint64_t source, std::uint64_t got, std::uint64_t expected) {
    constexpr reference::Format to = format_of<To>();
    ++compared_;
    if (got == expected || (to.is_nan(got) && to.is_nan(expected))) return;
    if (differences_++ == 0) {
      first_ = std::string(element_traits<From>::name) + " pattern " + std::to_string(source) + " as " + element_traits<To>::name +
               ": got " + std::to_string(got) + ", expected " + std::to_string(expected);
    }
  }
  void finish(std::uint64_t at_least) const {
    CHECK_MESSAGE(differences_ == 0, differences_, " of ", compared_, " differ; the first: ", first_);
    CHECK(compared_ >= at_least);
  }

 private:
  std::uint64_t compared_ = 0, differences_ = 0;
  std::string first_;
};

/// Every `stride`-th pattern of float, both signs, from a start that differs by the target.
template <class To, Overflow OnOverflow, class E>
void sweep_floats(const E& executor, std::uint64_t stride) {
  constexpr bool saturate = OnOverflow == Overflow::saturate;
  constexpr std::uint64_t block = 1U << 20, half = std::uint64_t{1} << 31;
  Comparison<float, To> comparison;
  const Buffer<Bits<To>> out(executor, block);
  for (const std::uint64_t sign : {std::uint64_t{0}, half}) {
    reference::Rounding rounding(reference::f32, format_of<To>());
    for (std::uint64_t first = stride / 2; first < half; first += block * stride) {
      const std::uint64_t count = std::min(block, (half - first + stride - 1) / stride);
      for_each_index(executor, count, ConvertRange<float, To, OnOverflow>{sign + first, stride, out.data()});
      const auto results = out.read();
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t source = sign + first + i * stride;
        comparison.add(source, results[i], rounding.next(source, saturate));
      }
    }
  }
  comparison.finish((std::uint64_t{1} << 32) / stride - 2);
}

template <class From, class To, Overflow OnOverflow, class E>
std::vector<Bits<To>> convert_all(const E& executor, const std::vector<Bits<From>>& sources) {
  const Buffer<Bits<From>> in(executor, sources);
  const Buffer<Bits<To>> out(executor, sources.size());
  for_each_index(executor, sources.size(), ConvertList<From, To, OnOverflow>{in.data(), out.data()});
  return out.read();
}

/// Every midpoint and every value of `To` as patterns of `From`, each with its neighbours, both signs; and what is special.
template <class From, class To>
std::vector<Bits<From>> ties_and_boundaries(std::uint64_t step = 1) {
  constexpr reference::Format from = format_of<From>(), to = format_of<To>();
  std::vector<Bits<From>> patterns;
  const auto add = [&](std::uint64_t p) {
    for (const std::uint64_t sign : {std::uint64_t{0}, from.sign()}) patterns.push_back(static_cast<Bits<From>>(sign | p));
  };
  const auto around = [&](std::uint64_t p) {
    if (p != 0) add(p - 1);
    add(p);
    add(p + 1);
  };
  for (std::uint64_t p = 0; p < to.finite_end(); p += step) {
    around(pattern(from, midpoint(to, p)));
    around(pattern(from, value(to, p)));
  }
  for (const std::uint64_t p : {to.largest(), to.largest() - 1}) around(pattern(from, midpoint(to, p)));
  for (const std::uint64_t p : {std::uint64_t{0}, from.finite_end() - 1, from.finite_end(), from.finite_end() + 1, from.sign() - 1}) add(p);
  return patterns;
}

template <class From, class To, Overflow OnOverflow, class E>
void check_list(const E& executor, const std::vector<Bits<From>>& sources) {
  const reference::Rounding rounding(format_of<From>(), format_of<To>());
  const auto results = convert_all<From, To, OnOverflow>(executor, sources);
  Comparison<From, To> comparison;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    comparison.add(sources[i], results[i], rounding(sources[i], OnOverflow == Overflow::saturate));
  }
  comparison.finish(sources.size());
}

template <class T>
std::vector<Bits<T>> all_patterns() {
  std::vector<Bits<T>> patterns(std::size_t{1} << format_of<T>().bits());
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<Bits<T>>(i);
  return patterns;
}

// -- narrow to wide: every pattern ------------------------------------------------------------------------------------

template <class From, class To, class E>
void check_widening(const E& executor) {
  constexpr reference::Format from = format_of<From>(), to = format_of<To>();
  const auto sources = all_patterns<From>();
  const auto wide = convert_all<From, To, Overflow::to_infinity>(executor, sources);
  const auto back = convert_all<To, From, Overflow::to_infinity>(executor, wide);
  Comparison<From, To> comparison;
  Comparison<To, From> round_trip;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    comparison.add(sources[i], wide[i], widened(from, to, sources[i]));
    round_trip.add(wide[i], back[i], sources[i]);
  }
  comparison.finish(sources.size());
  round_trip.finish(sources.size());
}

TEST_CASE_TEMPLATE("every_pattern_of_a_narrow_type_widens_exactly_and_comes_back", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_widening<float16, float>(executor);
  check_widening<float16, double>(executor);
  check_widening<bfloat16, float>(executor);
  check_widening<bfloat16, double>(executor);
  check_widening<float8_e4m3, float16>(executor);
  check_widening<float8_e4m3, bfloat16>(executor);
  check_widening<float8_e4m3, float>(executor);
  check_widening<float8_e4m3, double>(executor);
  check_widening<float8_e5m2, float16>(executor);
  check_widening<float8_e5m2, bfloat16>(executor);
  check_widening<float8_e5m2, float>(executor);
  check_widening<float8_e5m2, double>(executor);
}

// -- narrow to narrow: every pattern, through the reference in two exact-then-rounded steps ------------------------------

template <class From, class To, Overflow OnOverflow, class E>
void check_narrow_pair(const E& executor) {
  const auto sources = all_patterns<From>();
  const auto results = convert_all<From, To, OnOverflow>(executor, sources);
  const reference::Rounding rounding(reference::f32, format_of<To>());
  Comparison<From, To> comparison;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::uint64_t wide = widened(format_of<From>(), reference::f32, sources[i]);
    comparison.add(sources[i], results[i], rounding(wide, OnOverflow == Overflow::saturate));
  }
  comparison.finish(sources.size());
}

template <class From, class To, class E>
void check_narrow_pair_both(const E& executor) {
  check_narrow_pair<From, To, Overflow::to_infinity>(executor);
  check_narrow_pair<From, To, Overflow::saturate>(executor);
}

TEST_CASE_TEMPLATE("every_pattern_of_a_narrow_type_rounds_once_to_every_other", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_narrow_pair_both<float16, bfloat16>(executor);
  check_narrow_pair_both<float16, float8_e4m3>(executor);
  check_narrow_pair_both<float16, float8_e5m2>(executor);
  check_narrow_pair_both<bfloat16, float16>(executor);
  check_narrow_pair_both<bfloat16, float8_e4m3>(executor);
  check_narrow_pair_both<bfloat16, float8_e5m2>(executor);
  check_narrow_pair_both<float8_e4m3, float8_e5m2>(executor);
  check_narrow_pair_both<float8_e5m2, float8_e4m3>(executor);
  check_narrow_pair_both<float8_e5m2, float16>(executor);
}

// -- float to narrow ---------------------------------------------------------------------------------------------------

template <class E>
void sweep_all(const E& executor, std::uint64_t stride) {
  sweep_floats<float16, Overflow::to_infinity>(executor, stride);
  sweep_floats<float16, Overflow::saturate>(executor, stride);
  sweep_floats<bfloat16, Overflow::to_infinity>(executor, stride);
  sweep_floats<bfloat16, Overflow::saturate>(executor, stride);
  sweep_floats<float8_e4m3, Overflow::to_infinity>(executor, stride);
  sweep_floats<float8_e4m3, Overflow::saturate>(executor, stride);
  sweep_floats<float8_e5m2, Overflow::to_infinity>(executor, stride);
  sweep_floats<float8_e5m2, Overflow::saturate>(executor, stride);
}

TEST_CASE_TEMPLATE("a_strided_set_of_floats_rounds_to_nearest_even", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  sweep_all(executor, 331);  // 13 million floats to each of 8 targets; the stride shares no factor with a power of two
}

TEST_CASE_TEMPLATE("every_float_rounds_to_nearest_even" * doctest::test_suite("nightly"), E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  sweep_all(executor, 1);
}

template <class From, class To, class E>
void check_ties(const E& executor, std::uint64_t step = 1) {
  const auto patterns = ties_and_boundaries<From, To>(step);
  check_list<From, To, Overflow::to_infinity>(executor, patterns);
  check_list<From, To, Overflow::saturate>(executor, patterns);
}

TEST_CASE_TEMPLATE("every_tie_and_boundary_goes_to_the_even_neighbour", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_ties<float, float16>(executor);
  check_ties<float, bfloat16>(executor);
  check_ties<float, float8_e4m3>(executor);
  check_ties<float, float8_e5m2>(executor);
}

TEST_CASE_TEMPLATE("bfloat16_rounds_every_upper_half_with_telling_lower_halves", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<std::uint32_t> patterns;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) patterns.push_back(upper << 16 | lower);
  }
  check_list<float, bfloat16, Overflow::to_infinity>(executor, patterns);
}

// -- double to narrow: rounded once --------------------------------------------------------------------------------------

template <class To, class E>
void check_doubles(const E& executor, std::uint64_t step = 1) {
  check_ties<double, To>(executor, step);
  // Random doubles over the target's range, a quarter of them next to a float: where two roundings go wrong.
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> patterns;
  for (int i = 0; i < 100'000; ++i) {
    const int exponent = static_cast<int>(random() % 300) - 160;
    std::uint64_t p = (random() & 0x800f'ffff'ffff'ffff) | static_cast<std::uint64_t>(exponent + 1023) << 52;
    if (i % 4 == 0) p = (p & ~std::uint64_t{0x1fff'ffff}) + (random() % 3 - 1);
    if (i % 4 == 1) p = (p & ~std::uint64_t{0x7ff'ffff'ffff}) + (random() % 3 - 1);
    patterns.push_back(p);
  }
  check_list<double, To, Overflow::to_infinity>(executor, patterns);
  check_list<double, To, Overflow::saturate>(executor, patterns);
}

TEST_CASE_TEMPLATE("a_double_is_rounded_once", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_doubles<float16>(executor);
  check_doubles<bfloat16>(executor);
  check_doubles<float8_e4m3>(executor);
  check_doubles<float8_e5m2>(executor);
  check_doubles<float>(executor, 100'003);
}

TEST_CASE_TEMPLATE("every_strided_float_widens_to_double_exactly", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<std::uint32_t> patterns{0, 1, 0x7fffff, 0x800000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x80000001, 0xff800000};
  for (std::uint64_t p = 0; p < std::uint64_t{1} << 32; p += 10'007) patterns.push_back(static_cast<std::uint32_t>(p));
  const auto results = convert_all<float, double, Overflow::to_infinity>(executor, patterns);
  Comparison<float, double> comparison;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    comparison.add(patterns[i], results[i], widened(reference::f32, reference::f64, patterns[i]));
  }
  comparison.finish(400'000);
}

// -- single values, by name ------------------------------------------------------------------------------------------------

static_assert(to_bits(convert<float16>(2.f)) == 0x4000);
static_assert(to_bits(convert<float16>(65519.99f)) == 0x7bff && to_bits(convert<float16>(65520.f)) == 0x7c00);
static_assert(to_bits(convert<float16, Overflow::saturate>(1e9f)) == 0x7bff && to_bits(convert<float16, Overflow::saturate>(-1e9f)) == 0xfbff);
static_assert(to_bits(convert<float8_e4m3>(464.f)) == 0x7e && to_bits(convert<float8_e4m3>(464.001f)) == 0x7f);
static_assert(to_bits(convert<float8_e4m3, Overflow::saturate>(1e9f)) == 0x7e);
static_assert(to_bits(convert<float8_e5m2>(61439.f)) == 0x7b && to_bits(convert<float8_e5m2>(61440.f)) == 0x7c);
static_assert(to_bits(convert<float16>(1. + 0x1p-11 + 0x1p-30)) == 0x3c01, "once, not through float");
static_assert(to_bits(convert<float16>(-0.f)) == 0x8000 && to_bits(convert<bfloat16>(-0.f)) == 0x8000 &&
              to_bits(convert<float8_e4m3>(-0.f)) == 0x80 && to_bits(convert<float8_e5m2>(-0.f)) == 0x80);
static_assert(to_bits(convert<float16>(0x1p-24f)) == 1 && to_bits(convert<float16>(0x1p-25f)) == 0 &&
              to_bits(convert<float16>(0x1.000002p-25f)) == 1);
static_assert(convert<float>(from_bits<float16>(0x3555)) == 0.333251953125f && convert<double>(from_bits<bfloat16>(0x3e8a)) == .26953125);
static_assert(convert<float>(convert<float>(1.5f)) == 1.5f);
static_assert(convert<float>(1e300) == from_bits<float>(0x7f800000) && convert<float, Overflow::saturate>(1e300) == 0x1.fffffep127f);

TEST_CASE("the_bfloat16_of_public_bug_reports") {
  CHECK(to_bits(convert<bfloat16>(from_bits<float>(0x3e89ccd5))) == 0x3e8a);  // .2691408 -> .26953125, not truncated
  CHECK(mezzo::is_nan(convert<bfloat16>(from_bits<float>(0x7f800001))));      // not infinity
  CHECK(mezzo::is_nan(convert<bfloat16>(from_bits<float>(0x7fff8c22))));      // not -0
  CHECK(mezzo::is_nan(convert<bfloat16>(from_bits<float>(0xffffffff))));
  CHECK(to_bits(convert<bfloat16>(from_bits<float>(0x7f800000))) == 0x7f80);
  CHECK(to_bits(convert<bfloat16>(from_bits<float>(0x7f7fffff))) == 0x7f80);  // beyond the largest by more than half an ulp
}

TEST_CASE("saturation_keeps_every_value_finite_except_nan") {
  const float infinity = from_bits<float>(0x7f800000), nan = from_bits<float>(0x7fc00000);
  CHECK(to_bits(convert<float16, Overflow::saturate>(infinity)) == 0x7bff);
  CHECK(to_bits(convert<float8_e4m3, Overflow::saturate>(-infinity)) == 0xfe);
  CHECK(mezzo::is_nan(convert<float8_e4m3, Overflow::saturate>(nan)));
  CHECK(mezzo::is_nan(convert<bfloat16, Overflow::saturate>(nan)));
  // An infinity saturates in the target's format, also where the target is wider or the type stays.
  CHECK(convert<float, Overflow::saturate>(from_bits<float16>(0xfc00)) == -0x1.fffffep127f);
  CHECK(convert<double, Overflow::saturate>(infinity) == 0x1.fffffffffffffp1023);
  CHECK(to_bits(convert<float16, Overflow::saturate>(from_bits<float16>(0x7c00))) == 0x7bff);
  CHECK(mezzo::is_nan(convert<float, Overflow::saturate>(from_bits<float16>(0x7e00))));
}

TEST_CASE("narrowing_does_not_follow_the_processors_rounding_mode") {
  const auto patterns = ties_and_boundaries<float, float16>(37);
  const auto expected = convert_all<float, float16, Overflow::to_infinity>(mezzo::HostExecutor{}, patterns);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const auto results = convert_all<float, float16, Overflow::to_infinity>(mezzo::HostExecutor{}, patterns);
    std::fesetround(FE_TONEAREST);
    CHECK((results == expected));
  }
}

// The reference itself, at values written down by hand.
static_assert(reference::f16.largest() == 0x7bff && reference::e4m3.largest() == 0x7e && reference::e5m2.largest() == 0x7b);
static_assert(reference::pattern(reference::f32, {3, -1}) == 0x3fc00000 && reference::pattern(reference::f32, {1, -149}) == 1);
static_assert(reference::pattern(reference::f64, {1, -149}) == 0x36a0000000000000);
static_assert(reference::pattern(reference::f32, reference::midpoint(reference::f16, 0)) == 0x33000000);       // 2^-25
static_assert(reference::pattern(reference::f32, reference::midpoint(reference::f16, 0x7bff)) == 0x477ff000);  // 65520
TEST_CASE("the_reference_rounds_as_the_standard_says") {
  reference::Rounding rounding(reference::f32, reference::f16);
  for (const bool search : {true, false}) {
    const auto round = [&](std::uint64_t source) { return search ? rounding(source, false) : rounding.next(source, false); };
    CHECK(round(0x33000000) == 0x0000);  // half of the smallest subnormal: a tie to 0
    CHECK(round(0x33000001) == 0x0001);
    CHECK(round(0x3f801000) == 0x3c00);  // 1 + half an ulp
    CHECK(round(0x3f803000) == 0x3c02);  // 1 + one and a half
    CHECK(round(0x477fefff) == 0x7bff);
    CHECK(round(0x477ff000) == 0x7c00);
    CHECK(round(0xff800000) == 0xfc00);
    CHECK(reference::f16.is_nan(round(0x7f800001)));
  }
}

}  // namespace convert_test
