// exact:: against plain arithmetic that no compiler may fuse: every intermediate goes through a volatile object.
//
// Included by arithmetic_test.cpp, and by arithmetic_contraction_test.cpp, which is compiled with flags that let the compiler
// fuse a product with a following sum. Both must see the same bits, on the device too.
#pragma once

#include <mezzo/numeric/arithmetic.hpp>
#include <mezzo/numeric/bits.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "support/executors.hpp"

namespace arithmetic_cases {

namespace exact = mezzo::exact;
using mezzo::from_bits;
using mezzo::to_bits;
using mezzo::test::Buffer;

template <class T>
struct Triple {
  T a, b, c;
};

inline constexpr int results = 12;

/// The operations alone, and in the combinations that contraction would change. out: [n, results].
template <class T>
struct Compute {
  const Triple<T>* in;
  T* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const auto [a, b, c] = in[i];
    T* const o = out + i * results;
    o[0] = exact::mul(a, b);
    o[1] = exact::add(a, c);
    o[2] = exact::sub(a, c);
    o[3] = exact::div(a, b);
    o[4] = exact::fma(a, b, c);
    o[5] = exact::add(exact::mul(a, b), c);
    o[6] = exact::sub(c, exact::mul(a, b));
    o[7] = exact::sub(exact::mul(a, b), exact::mul(b, c));
    o[8] = exact::fma(exact::neg(a), b, exact::mul(b, c));
    o[9] = exact::sqrt(from_bits<T>(static_cast<typename mezzo::element_traits<T>::bits_type>(to_bits(a) & ~mezzo::element_traits<T>::sign_mask)));
    o[10] = exact::add(exact::mul(exact::mul(a, b), c), exact::mul(a, a));
    o[11] = exact::sub(exact::sqrt(exact::mul(a, a)), exact::mul(b, b));
  }
};

/// A value that the compiler has to store before it uses it.
template <class T>
T opaque(T value) {
  volatile T stored = value;
  return stored;
}

template <class T>
void expected(const Triple<T>& t, T* o) {
  const T a = opaque(t.a), b = opaque(t.b), c = opaque(t.c);
  const T ab = opaque(a * b), bc = opaque(b * c), aa = opaque(a * a), bb = opaque(b * b);
  o[0] = ab;
  o[1] = opaque(a + c);
  o[2] = opaque(a - c);
  o[3] = opaque(a / b);
  o[4] = std::fma(a, b, c);
  o[5] = opaque(ab + c);
  o[6] = opaque(c - ab);
  o[7] = opaque(ab - bc);
  o[8] = std::fma(-a, b, bc);
  o[9] = std::sqrt(opaque(a < 0 ? -a : a));
  o[10] = opaque(opaque(ab * c) + aa);
  o[11] = opaque(std::sqrt(aa) - bb);
}

/// Patterns of every kind: uniform over exponents, near 1, subnormal, special; products that cancel against c.
template <class T>
std::vector<Triple<T>> triples(std::size_t count) {
  using Traits = mezzo::element_traits<T>;
  using Bits = typename Traits::bits_type;
  std::mt19937_64 random(11);
  const auto value = [&random]() -> T {
    const auto bits = static_cast<Bits>(random());
    switch (random() % 8) {
      case 0: return from_bits<T>(static_cast<Bits>(bits & (Traits::fraction_mask | Traits::sign_mask)));  // subnormal
      case 1: return from_bits<T>(static_cast<Bits>((bits & Traits::sign_mask) | Bits{1} << Traits::fraction_bits | (bits & 7)));
      case 2: return static_cast<T>(static_cast<int>(random() % 7) - 3);
      case 3: return from_bits<T>(static_cast<Bits>((bits & Traits::sign_mask) | (random() % 2 != 0 ? Traits::max_bits : Traits::overflow_bits)));
      case 4: return from_bits<T>(bits);
      default:
        return from_bits<T>(static_cast<Bits>((bits & (Traits::fraction_mask | Traits::sign_mask)) |
                                              static_cast<Bits>(Traits::bias + static_cast<int>(random() % 24) - 12) << Traits::fraction_bits));
    }
  };
  std::vector<Triple<T>> all;
  for (std::size_t i = 0; i < count; ++i) {
    Triple<T> t{value(), value(), value()};
    if (i % 3 == 0) t.c = -opaque(t.a * t.b);  // what is left is the rounding of the product
    all.push_back(t);
  }
  return all;
}

template <class T, class E>
void check(const E& executor) {
  const auto in = triples<T>(200'000);
  const Buffer<Triple<T>> source(executor, in);
  const Buffer<T> out(executor, in.size() * results);
  for_each_index(executor, in.size(), Compute<T>{source.data(), out.data()});
  const auto got = out.read();
  std::uint64_t differ[results] = {}, subnormal = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    T want[results];
    expected(in[i], want);
    for (int r = 0; r < results; ++r) {
      const T value = got[i * results + static_cast<std::size_t>(r)];
      const bool both_nan = mezzo::is_nan(value) && mezzo::is_nan(want[r]);
      differ[r] += !both_nan && to_bits(value) != to_bits(want[r]);
      subnormal += std::fpclassify(want[r]) == FP_SUBNORMAL;
    }
  }
  for (int r = 0; r < results; ++r) {
    CAPTURE(r);
    CHECK(differ[r] == 0);
  }
  CHECK(subnormal > 10'000);  // the set has what a flushing build would lose
}

TEST_CASE_TEMPLATE("every_operation_rounds_once_and_nothing_is_fused", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check<float>(executor);
  check<double>(executor);
}

/// Conversions between float and double keep subnormals.
struct Convert {
  const float* in;
  double* wide;
  float* back;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    wide[i] = exact::to_double(in[i]);
    back[i] = exact::to_float(wide[i]);
  }
};

TEST_CASE_TEMPLATE("float_to_double_and_back_keeps_subnormals", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<float> values;
  for (std::uint32_t p = 0; p < 0x01000000; p += 4099) values.push_back(from_bits<float>(p));
  const Buffer<float> in(executor, values), back(executor, values.size());
  const Buffer<double> wide(executor, values.size());
  for_each_index(executor, values.size(), Convert{in.data(), wide.data(), back.data()});
  CHECK((mezzo::test::bits_of(back.read()) == mezzo::test::bits_of(values)));
  const auto doubles = wide.read();
  std::size_t differ = 0;
  // A subnormal float is its pattern times 2^-149.
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (to_bits(values[i]) < 0x00800000) differ += doubles[i] != std::ldexp(static_cast<double>(to_bits(values[i])), -149);
  }
  CHECK(differ == 0);
}

/// One step of each update rule: chains of products and sums.
struct Rules {
  const Triple<float>* in;
  float* out;  // [n, 5]
  mezzo::Sgd::Scalars sgd;
  mezzo::AdamW::Scalars adamw;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const auto [gradient, w, m] = in[i];
    float weight = w, buffer = m;
    mezzo::Sgd::update(sgd, weight, gradient, buffer);
    out[i * 5] = weight;
    out[i * 5 + 1] = buffer;
    float w2 = w, m2 = m, v2 = exact::mul(m, m);
    mezzo::AdamW::update(adamw, w2, gradient, m2, v2);
    out[i * 5 + 2] = w2;
    out[i * 5 + 3] = m2;
    out[i * 5 + 4] = v2;
  }
};

TEST_CASE_TEMPLATE("update_rules_give_the_documented_order_of_roundings", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::mt19937 random(5);
  std::vector<Triple<float>> in;
  const auto uniform = [&random](int exponent) { return std::ldexp(static_cast<float>(static_cast<int>(random() % 0x1000000) - 0x800000), exponent - 23); };
  for (int i = 0; i < 100'000; ++i) in.push_back({uniform(static_cast<int>(random() % 40) - 30), uniform(1), uniform(-3)});
  const mezzo::Sgd::Scalars s{.lr = .0371f, .momentum = .9f, .dampened = .7f, .weight_decay = .013f, .nesterov = false};
  const mezzo::AdamW::Scalars a = mezzo::AdamW::scalars({.lr = .0173f, .weight_decay = .1f}, .0173f, 3);
  const Buffer<Triple<float>> source(executor, in);
  const Buffer<float> out(executor, in.size() * 5);
  for_each_index(executor, in.size(), Rules{source.data(), out.data(), s, a});
  const auto got = out.read();
  std::size_t differ[5] = {};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto [g, w, m] = in[i];
    const float d = std::fma(s.weight_decay, w, g);
    const float b = std::fma(s.momentum, m, opaque(s.dampened * d));
    const float m2 = std::fma(a.beta1, m, opaque(a.one_minus_beta1 * g));
    const float v2 = std::fma(a.beta2, opaque(m * m), opaque(opaque(a.one_minus_beta2 * g) * g));
    const float denominator = std::fma(std::sqrt(v2), a.root_correction, a.epsilon);
    const float expected_values[5] = {std::fma(-s.lr, b, w), b, std::fma(-a.step_size, opaque(m2 / denominator), opaque(a.keep * w)), m2, v2};
    for (std::size_t r = 0; r < 5; ++r) differ[r] += to_bits(got[i * 5 + r]) != to_bits(expected_values[r]);
  }
  for (std::size_t r = 0; r < 5; ++r) {
    CAPTURE(r);
    CHECK(differ[r] == 0);
  }
}

}  // namespace arithmetic_cases
