#include "numeric/arithmetic_cases.hpp"
#include "support/executors.hpp"

// Named: nvcc loses types of an unnamed namespace that is nested, as the macros of doctest nest one.
namespace arithmetic_test {

namespace exact = mezzo::exact;
using mezzo::test::Buffer;

struct Power {
  const double* bases;
  const std::uint64_t* exponents;
  double* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const { out[i] = exact::pow_int(bases[i], exponents[i]); }
};

// Each of the multiplications that make up base^n rounds once, and a later squaring doubles what went wrong before; summed
// up, at most n roundings of relative size u = 2^-53 reach the result. long double has 11 more bits and powl is good to
// within one of its ulps of n log2(base); for base in [1/2, 1) and results above 2^-400 that is below n u / 4.
TEST_CASE_TEMPLATE("integer_powers_are_within_n_roundings", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<double> bases;
  std::vector<std::uint64_t> exponents;
  for (const float base : {.5f, .9f, .99f, .999f, .9999f, .999999f}) {
    for (std::uint64_t n = 1; n <= 2'000'000; n = n + 1 + n / 7) {
      if (static_cast<double>(n) * std::log2(static_cast<double>(base)) < -400) break;
      bases.push_back(static_cast<double>(base));
      exponents.push_back(n);
    }
  }
  const Buffer<double> in(executor, bases), out(executor, bases.size());
  const Buffer<std::uint64_t> powers(executor, exponents);
  for_each_index(executor, bases.size(), Power{in.data(), powers.data(), out.data()});
  const auto got = out.read();
  CHECK(bases.size() > 200);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const long double right = std::pow(static_cast<long double>(bases[i]), static_cast<long double>(exponents[i]));
    const long double bound = 1.25L * static_cast<long double>(exponents[i]) * 0x1p-53L * right;
    CAPTURE(bases[i]);
    CAPTURE(exponents[i]);
    CHECK(std::fabs(static_cast<long double>(got[i]) - right) <= bound);
  }
}

TEST_CASE("integer_powers_have_their_exact_cases") {
  CHECK(exact::pow_int(.7, 0) == 1.);
  CHECK(exact::pow_int(0., 0) == 1.);
  CHECK(exact::pow_int(0., 5) == 0.);
  CHECK(exact::pow_int(.7, 1) == .7);
  CHECK(exact::pow_int(2., 100) == 0x1p100);
  CHECK(exact::pow_int(-2., 3) == -8.);
  CHECK(exact::pow_int(1., ~std::uint64_t{0}) == 1.);
  CHECK(exact::pow_int(.5, 1074) == 0x1p-1074);
  CHECK(exact::pow_int(.9, ~std::uint64_t{0}) == 0.);
}

TEST_CASE("the_sign_of_zero_is_kept") {
  using mezzo::to_bits;
  CHECK(to_bits(exact::mul(-0.f, 1.f)) == 0x80000000);
  CHECK(to_bits(exact::mul(-0.f, -1.f)) == 0);
  CHECK(to_bits(exact::add(-0.f, -0.f)) == 0x80000000);
  CHECK(to_bits(exact::sub(0.f, 0.f)) == 0);
  CHECK(to_bits(exact::sub(-0.f, 0.f)) == 0x80000000);
  CHECK(to_bits(exact::to_float(-0.)) == 0x80000000);
  CHECK(to_bits(exact::sqrt(-0.f)) == 0x80000000);
}

// The product's rounding error is what a fused form would leave: (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24.
constexpr float x = 1.f + 0x1p-12f;
static_assert(exact::sub(exact::mul(x, x), 1.f + 0x1p-11f) == 0.f, "the same in constant expressions");
#ifndef __CUDACC__  // nvcc's front end has no fma in constant expressions
static_assert(exact::fma(x, x, -(1.f + 0x1p-11f)) == 0x1p-24f);
#endif
static_assert(exact::pow_int(.5, 4) == .0625 && exact::div(1.f, 3.f) == 1.f / 3.f);

}  // namespace arithmetic_test
