#pragma once
// Rows of elements widened to the accumulation type and rounded back, in bulk.

#include <cstdint>

#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/host/detail/simd.hpp>

namespace mezzo::detail::host {

#if MEZZO_HAS_AVX2
// The processor's conversions give the bits of convert<>, NaN payloads aside. In assembly, since the intrinsics' header
// alone takes longer to compile than the rest of an op.

MEZZO_AVX2 inline void widen_float16(const float16* from, float* to, std::int64_t count) {
  using Eight [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
  using Halves [[gnu::vector_size(16), gnu::aligned(2), gnu::may_alias]] = short;
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    asm("vcvtph2ps %1, %0" : "=x"(*reinterpret_cast<Eight*>(to + i)) : "m"(*reinterpret_cast<const Halves*>(from + i)));
  }
  for (; i < count; ++i) to[i] = convert<float>(from[i]);
}

MEZZO_AVX2 inline void narrow_float16(const float* from, float16* to, std::int64_t count) {
  using Eight [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
  using Halves [[gnu::vector_size(16), gnu::aligned(2), gnu::may_alias]] = short;
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    asm("vcvtps2ph $0, %1, %0" : "=m"(*reinterpret_cast<Halves*>(to + i)) : "x"(*reinterpret_cast<const Eight*>(from + i)));
  }
  for (; i < count; ++i) to[i] = convert<float16>(from[i]);
}
#endif

/// to[i] = from[i], exactly.
template <class T, class From>
inline void widen_row(const From* from, T* to, std::int64_t count) {
#if MEZZO_HAS_AVX2
  if constexpr (stdlib::is_same_v<From, float16> && stdlib::is_same_v<T, float>) {
    if (has_avx2()) return widen_float16(from, to, count);
  }
#endif
  vectorised([=]() MEZZO_INLINE_BODY {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<T>(from[i]);
  });
}

/// to[i] = from[i], rounded once.
template <class To, class T>
inline void narrow_row(const T* from, To* to, std::int64_t count) {
#if MEZZO_HAS_AVX2
  if constexpr (stdlib::is_same_v<To, float16> && stdlib::is_same_v<T, float>) {
    if (has_avx2()) return narrow_float16(from, to, count);
  }
#endif
  vectorised([=]() MEZZO_INLINE_BODY {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
  });
}

/// to[i] = from[i], or to[i] + from[i]; the sum in T, rounded once.
template <class To, class T>
inline void store_row(const T* from, To* to, std::int64_t count, Accumulate accumulate) {
  if (accumulate == Accumulate::no) return narrow_row(from, to, count);
  vectorised([=]() MEZZO_INLINE_BODY {
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(convert<T>(to[i]) + from[i]);
  });
}

}  // namespace mezzo::detail::host
