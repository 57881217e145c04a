// The finiteness test on every pattern. Included by finite_test.cpp, and by finite_fast_math_test.cpp, which is compiled with
// flags that let a compiler assume that no value is infinite or NaN.
#pragma once

#include <mezzo/numeric/finite.hpp>

#include <cstdint>
#include <vector>

#include "numeric/reference.hpp"
#include "support/executors.hpp"

namespace finite_cases {

using mezzo::from_bits;
using mezzo::test::Buffer;

/// out[i]: bit 0 is_finite, bit 1 is_nan; the value takes the way through memory that a tensor's does.
template <class T>
struct Classify {
  const T* in;
  std::uint8_t* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const T value = in[i];
    out[i] = static_cast<std::uint8_t>((mezzo::is_finite(value) ? 1 : 0) | (mezzo::is_nan(value) ? 2 : 0));
  }
};

template <class T, class E>
void check(const E& executor, const reference::Format& format, const std::vector<std::uint64_t>& patterns) {
  std::vector<T> values;
  for (const std::uint64_t p : patterns) values.push_back(from_bits<T>(static_cast<typename mezzo::element_traits<T>::bits_type>(p)));
  const Buffer<T> in(executor, values);
  const Buffer<std::uint8_t> out(executor, values.size());
  for_each_index(executor, values.size(), Classify<T>{in.data(), out.data()});
  const auto results = out.read();
  std::uint64_t differ = 0, finite = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bool expect_finite = (patterns[i] & (format.sign() - 1)) < format.finite_end();
    const int expected = (expect_finite ? 1 : 0) | (format.is_nan(patterns[i]) ? 2 : 0);
    differ += results[i] != expected;
    finite += expect_finite;
  }
  CAPTURE(mezzo::element_traits<T>::name);
  CHECK(differ == 0);
  CHECK(finite != 0);
  CHECK(finite != patterns.size());
}

inline std::vector<std::uint64_t> all(const reference::Format& format) {
  std::vector<std::uint64_t> patterns(std::size_t{1} << format.bits());
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = i;
  return patterns;
}

/// What is special, and a walk over the exponents.
inline std::vector<std::uint64_t> telling(const reference::Format& format) {
  std::vector<std::uint64_t> patterns;
  for (const std::uint64_t sign : {std::uint64_t{0}, format.sign()}) {
    for (std::uint64_t field = 0; field < std::uint64_t{1} << format.exponent_bits; ++field) {
      const std::uint64_t last = (std::uint64_t{1} << format.fraction_bits) - 1;
      for (const std::uint64_t fraction : {std::uint64_t{0}, std::uint64_t{1}, last / 2 + 1, last}) {
        patterns.push_back(sign | field << format.fraction_bits | fraction);
      }
    }
  }
  return patterns;
}

TEST_CASE_TEMPLATE("finiteness_is_right_for_every_pattern", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check<mezzo::float16>(executor, reference::f16, all(reference::f16));
  check<mezzo::bfloat16>(executor, reference::bf16, all(reference::bf16));
  check<mezzo::float8_e4m3>(executor, reference::e4m3, all(reference::e4m3));
  check<mezzo::float8_e5m2>(executor, reference::e5m2, all(reference::e5m2));
  check<float>(executor, reference::f32, telling(reference::f32));
  check<double>(executor, reference::f64, telling(reference::f64));
}

/// The results of an overflowing product and of inf - inf: values that a compiler might reason about, unlike loaded ones.
struct Compute {
  const float* in;
  std::uint8_t* out;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    const float product = mezzo::exact::mul(in[0], in[1]);
    const float difference = mezzo::exact::sub(product, product);
    out[i] = static_cast<std::uint8_t>((mezzo::is_finite(product) ? 0 : 1) | (mezzo::is_finite(difference) ? 0 : 2) |
                                       (mezzo::is_nan(difference) ? 4 : 0));
  }
};

TEST_CASE_TEMPLATE("computed_overflows_are_found", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const Buffer<float> in(executor, {1e30f, 1e30f});
  const Buffer<std::uint8_t> out(executor, 1);
  for_each_index(executor, 1, Compute{in.data(), out.data()});
#ifdef __FAST_MATH__
  CHECK((out.read()[0] & 1) == 1);  // x - x may be 0 here: the flags say so, and no library can help
#else
  CHECK(out.read()[0] == 7);
#endif
}

/// Finds out what a whole step makes of one gradient.
template <class E>
bool step_is_skipped(const E& executor, float gradient) {
  const Buffer<float> weights(executor, {1.f, 2.f}), gradients(executor, {.5f, gradient});
  mezzo::MasterOptimizer<mezzo::Sgd, mezzo::float16> optimizer(executor, {{weights.span(), gradients.span()}}, mezzo::Sgd::Options{.lr = 1.f});
  mezzo::DynamicLossScaler<> scaler(executor);
  scaler.step(optimizer);
  scaler.update();
  const bool skipped = optimizer.state().skipped_steps == 1;
  CHECK((mezzo::to_bits(weights.read()[0]) == mezzo::to_bits(1.f)) == skipped);
  CHECK((scaler.state().skipped_steps == 1) == skipped);
  return skipped;
}

TEST_CASE_TEMPLATE("a_step_is_skipped_for_inf_minus_inf_and_nan", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  CHECK(step_is_skipped(executor, from_bits<float>(0x7f800000)));
  CHECK(step_is_skipped(executor, from_bits<float>(0xff800000)));
  CHECK(step_is_skipped(executor, from_bits<float>(0x7fc00000)));
  CHECK(step_is_skipped(executor, from_bits<float>(0xff800001)));
  CHECK_FALSE(step_is_skipped(executor, 3.e38f));
}

static_assert(mezzo::is_finite(1.f) && !mezzo::is_finite(from_bits<float>(0x7f800000)) && mezzo::is_nan(from_bits<float>(0x7f800001)),
              "usable in constant expressions");

}  // namespace finite_cases
