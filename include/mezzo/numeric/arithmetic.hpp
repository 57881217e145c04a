#pragma once
// Float and double arithmetic with the same bits on host and device, whatever the compiler's fast-math flags are.
//
// Every result is rounded once, to nearest even, and subnormals are kept. No product fuses with a following sum: on the
// device the instructions carry `.rn` and no `.ftz` (the `__f*_rn` intrinsics turn into `.ftz` forms under
// --use_fast_math), on the host a product is written so that g++ cannot contract it. Requires the processor's default
// rounding mode; a host build with -ffast-math is outside this promise.

#include <mezzo/core/type_traits.hpp>

namespace mezzo {

namespace detail {

#if defined(__clang__) && !defined(__CUDA_ARCH__)
#define MEZZO_NO_CONTRACTION _Pragma("clang fp contract(off)")
#else
#define MEZZO_NO_CONTRACTION
#endif

#ifdef __clang__
#define MEZZO_CONSTEXPR_FMA inline
#else
#define MEZZO_CONSTEXPR_FMA constexpr
#endif

/// The product, safe from contraction: fma(a, b, -0) is a * b rounded once with the sign of zero kept. Only needed where
/// the target has fused instructions at all; elsewhere it would be a library call.
MEZZO_HOST_DEVICE constexpr float host_product(float a, float b) {
  MEZZO_NO_CONTRACTION
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if (!__builtin_is_constant_evaluated()) return __builtin_fmaf(a, b, -0.f);
#endif
  return a * b;
}

MEZZO_HOST_DEVICE constexpr double host_product(double a, double b) {
  MEZZO_NO_CONTRACTION
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if (!__builtin_is_constant_evaluated()) return __builtin_fma(a, b, -0.);
#endif
  return a * b;
}

}  // namespace detail

/// Named apart: with `using namespace mezzo` an unqualified sqrt or fma must stay the C library's.
namespace exact {

/// a * b, rounded once.
MEZZO_HOST_DEVICE constexpr float mul(float a, float b) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    float result = 0.f;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
#endif
  return detail::host_product(a, b);
}

MEZZO_HOST_DEVICE constexpr double mul(double a, double b) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    double result = 0;
    asm("mul.rn.f64 %0, %1, %2;" : "=d"(result) : "d"(a), "d"(b));
    return result;
  }
#endif
  return detail::host_product(a, b);
}

/// a + b, rounded once.
MEZZO_HOST_DEVICE constexpr float add(float a, float b) {
  MEZZO_NO_CONTRACTION
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    float result = 0.f;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
#endif
  return a + b;
}

MEZZO_HOST_DEVICE constexpr double add(double a, double b) {
  MEZZO_NO_CONTRACTION
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    double result = 0;
    asm("add.rn.f64 %0, %1, %2;" : "=d"(result) : "d"(a), "d"(b));
    return result;
  }
#endif
  return a + b;
}

/// -a. A plain minus flushes a subnormal float under --use_fast_math.
MEZZO_HOST_DEVICE constexpr float neg(float a) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    float result = 0.f;
    asm("neg.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
  }
#endif
  return -a;
}

MEZZO_HOST_DEVICE constexpr double neg(double a) { return -a; }

/// a - b, rounded once.
MEZZO_HOST_DEVICE constexpr float sub(float a, float b) { return add(a, neg(b)); }
MEZZO_HOST_DEVICE constexpr double sub(double a, double b) { return add(a, neg(b)); }

/// a * b + c, rounded once. On a host without fused instructions this is a (slow, exact) library call. In constant
/// expressions with g++ only: the others cannot evaluate it.
MEZZO_HOST_DEVICE MEZZO_CONSTEXPR_FMA float fma(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    float result = 0.f;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
    return result;
  }
#endif
#ifdef __CUDACC_RTC__
  return ::fmaf(a, b, c);  // never reached on the device; NVRTC knows no builtin
#else
  return __builtin_fmaf(a, b, c);
#endif
}

MEZZO_HOST_DEVICE MEZZO_CONSTEXPR_FMA double fma(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    double result = 0;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(result) : "d"(a), "d"(b), "d"(c));
    return result;
  }
#endif
#ifdef __CUDACC_RTC__
  return ::fma(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

/// a / b, rounded once.
MEZZO_HOST_DEVICE constexpr float div(float a, float b) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    float result = 0.f;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
#endif
  return a / b;
}

MEZZO_HOST_DEVICE constexpr double div(double a, double b) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    double result = 0;
    asm("div.rn.f64 %0, %1, %2;" : "=d"(result) : "d"(a), "d"(b));
    return result;
  }
#endif
  return a / b;
}

/// Square root, rounded once.
MEZZO_HOST_DEVICE inline float sqrt(float a) {
#ifdef __CUDA_ARCH__
  float result = 0.f;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
#else
  return __builtin_sqrtf(a);
#endif
}

MEZZO_HOST_DEVICE inline double sqrt(double a) {
#ifdef __CUDA_ARCH__
  double result = 0;
  asm("sqrt.rn.f64 %0, %1;" : "=d"(result) : "d"(a));
  return result;
#else
  return __builtin_sqrt(a);
#endif
}

/// A float as double, exactly; subnormals are kept under --use_fast_math.
MEZZO_HOST_DEVICE constexpr double to_double(float a) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    double result = 0;
    asm("cvt.f64.f32 %0, %1;" : "=d"(result) : "f"(a));
    return result;
  }
#endif
  return static_cast<double>(a);
}

/// A double rounded once to float; subnormals are kept under --use_fast_math.
MEZZO_HOST_DEVICE constexpr float to_float(double a) {
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) {
    float result = 0.f;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(result) : "d"(a));
    return result;
  }
#endif
  return static_cast<float>(a);
}

/// base^exponent by square and multiply in double: the same bits everywhere, unlike a library's pow.
/// Relative error about exponent * 2^-53 at most: each squaring doubles what the ones before it rounded.
MEZZO_HOST_DEVICE constexpr double pow_int(double base, stdlib::uint64_t exponent) {
  double result = 1;
  for (double square = base; exponent != 0; exponent >>= 1, square = mul(square, square)) {
    if ((exponent & 1) != 0) result = mul(result, square);
  }
  return result;
}

}  // namespace exact
}  // namespace mezzo
