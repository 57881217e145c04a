#pragma once
// AVX2 on processors that have it, whatever the user compiles for: functions compiled for it, chosen at run time.

#include <mezzo/core/host_device.hpp>

// -DMEZZO_HAS_AVX2=0 leaves them out, for tests and other processors.
#ifndef MEZZO_HAS_AVX2
#if defined(__x86_64__) && defined(__GNUC__)
#define MEZZO_HAS_AVX2 1
#else
#define MEZZO_HAS_AVX2 0
#endif
#endif
#if MEZZO_HAS_AVX2
#define MEZZO_AVX2 __attribute__((target("avx2,fma,f16c")))
#else
#define MEZZO_AVX2
#endif

/// Put on a lambda that is given to `vectorised`: `[&]() MEZZO_INLINE_BODY { ... }`.
#define MEZZO_INLINE_BODY __attribute__((always_inline))

/// Put before an inner loop whose spans overlap only element for element.
#if defined(__GNUC__) && !defined(__clang__)
#define MEZZO_IVDEP _Pragma("GCC ivdep")
#else
#define MEZZO_IVDEP
#endif

namespace mezzo::detail::host {

inline bool has_avx2() {
#if !MEZZO_HAS_AVX2
  return false;
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
  return true;
#else
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");  // all of them have F16C too
  return has;
#endif
}

/// By value: what a lambda captured then stays in registers, whatever its loops write to.
template <class Body>
MEZZO_AVX2 inline void run_with_avx2(Body body) {
  body();
}

/// Runs `body()`, whose plain loops the compiler vectorises, with the widest instructions that this processor has.
/// `body` is a lambda marked MEZZO_INLINE_BODY, so that its loops are compiled inside the function above.
template <class Body>
inline void vectorised(Body body) {
  if (has_avx2()) {
    run_with_avx2(body);
  } else {
    body();
  }
}

}  // namespace mezzo::detail::host
