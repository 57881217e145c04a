// What the tests of ops share: the executors and element types they run on, random operands, and error bounds.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <source_location>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/executors.hpp"

#include <mezzo/ops/ops.hpp>

// A test is compiled twice: the host compiler's program runs the cases on the host, nvcc's those on CUDA.
#ifdef __CUDACC__
#include <mezzo/ops/ops.cuh>
#define MEZZO_OPS_EXECUTORS mezzo::CudaExecutor
#else
#define MEZZO_OPS_EXECUTORS mezzo::HostExecutor
#endif

namespace mezzo::test {

/// An executor and an element type, as one argument of TEST_CASE_TEMPLATE.
template <class E, class T>
struct On {
  using Executor = E;
  using Element = T;
};

#define MEZZO_OPS_CASES                                                                                                  \
  mezzo::test::On<MEZZO_OPS_EXECUTORS, float>, mezzo::test::On<MEZZO_OPS_EXECUTORS, mezzo::float16>,                     \
      mezzo::test::On<MEZZO_OPS_EXECUTORS, mezzo::bfloat16>, mezzo::test::On<MEZZO_OPS_EXECUTORS, double>

/// A policy under which convolutions and products read T as it is.
template <class T>
struct PolicyOf {
  using type = Autocast<T>;
};
template <>
struct PolicyOf<double> {
  using type = Autocast<float16>;  // never touches double
};
template <class T>
using policy_of = typename PolicyOf<T>::type;

/// The type that sums run in.
template <class T>
using sum_of_t = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// [count] numbers in [-1, 1) that T represents.
template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed, double offset = 0) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(convert<T>(uniform(engine) + offset));
  return values;
}

/// A value for references: exact for every element type.
template <class T>
long double exact(T value) {
  return static_cast<long double>(convert<double>(value));
}

/// Half the distance from 1 to the next T: the largest relative error of one rounding.
template <class T>
long double unit_roundoff() {
  return static_cast<long double>(element_limits<T>::epsilon) / 2;
}

/// n u / (1 - n u): the largest relative error of n roundings in the type of the sum.
template <class Sum>
long double gamma_n(std::size_t n) {
  const long double nu = static_cast<long double>(n) * unit_roundoff<Sum>();
  return nu / (1 - nu);
}

/// A reference value: the exact sum, the sum of magnitudes, and how many terms there were.
struct Sums {
  long double value = 0;
  long double magnitude = 0;
  std::size_t terms = 0;

  void add(long double term) {
    value += term;
    magnitude += std::abs(term);
    ++terms;
  }
};

/// Error of a sum of n products in Sum, rounded once to T: g + u (|exact| + g), and half the smallest step near zero.
template <class T, class Sum>
long double rounded_bound(long double sum_error, long double value) {
  const long double smallest = exact(element_limits<T>::smallest_subnormal()) / 2;
  return std::is_same_v<T, Sum> ? sum_error : sum_error + unit_roundoff<T>() * (std::abs(value) + sum_error) + smallest;
}

/// Compares with references; says where and by how much of the bound.
template <class T, class Sum = sum_of_t<T>>
void check_sums(const std::vector<T>& got, const std::vector<Sums>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const long double sum_error = gamma_n<Sum>(expected[i].terms) * expected[i].magnitude;
    const long double bound = rounded_bound<T, Sum>(sum_error, expected[i].value);
    const long double error = std::abs(exact(got[i]) - expected[i].value);
    if (!(error <= bound)) {
      const std::string text = "element " + std::to_string(i) + ": got " + std::to_string(static_cast<double>(exact(got[i]))) +
                               ", exactly " + std::to_string(static_cast<double>(expected[i].value)) + ", error " +
                               std::to_string(static_cast<double>(error / bound)) + " of the bound";
      FAIL(text);
    }
  }
}

/// A workspace whose scratch holds NaNs: nothing that an op has not written there may reach a result.
template <Executor E>
Workspace<E> poisoned_workspace(const E& executor, std::size_t bytes) {
  Workspace<E> workspace{executor, bytes};
  executor.fill(workspace.scratch(bytes, "poison", std::source_location::current()), std::byte{0xff}, bytes);
  return workspace;
}

/// What a call throws, or "" when it does not.
template <class Exception, class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

/// Compares a gradient with central differences of `loss`, in double. The truncation error of the difference over h is
/// about a third of its distance from the difference over 2 h, which is taken whole; rounding adds 64 u magnitude / h,
/// where `magnitude` bounds the terms that loss adds up.
template <class Loss>
void check_gradient(std::vector<double> x, const std::vector<double>& gradient, double magnitude, Loss&& loss) {
  REQUIRE(x.size() == gradient.size());
  constexpr double h = 1.0 / 1024;
  const double rounding = 64 * 0x1p-53 * magnitude / h;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    const auto difference = [&](double step) {
      x[i] = at + step;
      const double above = loss(x);
      x[i] = at - step;
      const double below = loss(x);
      x[i] = at;
      return (above - below) / (2 * step);
    };
    const double fine = difference(h);
    const double bound = std::abs(fine - difference(2 * h)) + rounding;
    if (!(std::abs(gradient[i] - fine) <= bound)) {
      FAIL("element " << i << ": gradient " << gradient[i] << ", difference " << fine << ", bound " << bound);
    }
  }
}

/// sum of a[i] * b[i], and of magnitudes: a loss whose gradient by `a` is `b`.
inline double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
inline double inner_magnitude(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 1;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] * b[i]);
  return sum;
}

}  // namespace mezzo::test
