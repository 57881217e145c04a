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

MEZZO_AVX2 inline void narrow_eight(const float* from, float16* to) {
  using Eight [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
  using Halves [[gnu::vector_size(16), gnu::aligned(2), gnu::may_alias]] = short;
  asm("vcvtps2ph $0, %1, %0" : "=m"(*reinterpret_cast<Halves*>(to)) : "x"(*reinterpret_cast<const Eight*>(from)));
}

MEZZO_AVX2 inline void narrow_float16(const float* from, float16* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) narrow_eight(from + i, to + i);
  for (; i < count; ++i) to[i] = convert<float16>(from[i]);
}
#endif

using Bits16 [[gnu::may_alias]] = stdlib::uint16_t;

template <SixteenBit To>
constexpr stdlib::uint16_t encode_bits(stdlib::uint32_t bits) {
  if constexpr (stdlib::is_same_v<To, float16>) {
    return encode_float16(bits);
  } else {
    return encode_bfloat16(bits);
  }
}

/// to[i] = from[i], exactly.
template <class T, class From>
inline void widen_row(const From* from, T* to, std::int64_t count) {
#if MEZZO_HAS_AVX2
  if constexpr (stdlib::is_same_v<From, float16> && stdlib::is_same_v<T, float>) {
    if (has_avx2()) return widen_float16(from, to, count);
  }
#endif
  if constexpr (SixteenBit<From> && stdlib::is_same_v<T, float>) {
    // As plain integers: the compiler vectorises no loop over the toolkit's classes.
    const auto* const bits = reinterpret_cast<const Bits16*>(from);
    vectorised([=]() MEZZO_INLINE_BODY {
      for (std::int64_t i = 0; i < count; ++i) to[i] = decode<From>(bits[i]);
    });
  } else {
    vectorised([=]() MEZZO_INLINE_BODY {
      for (std::int64_t i = 0; i < count; ++i) to[i] = convert<T>(from[i]);
    });
  }
}

/// to[i] = from[i], rounded once.
template <class To, class T>
inline void narrow_row(const T* from, To* to, std::int64_t count) {
#if MEZZO_HAS_AVX2
  if constexpr (stdlib::is_same_v<To, float16> && stdlib::is_same_v<T, float>) {
    if (has_avx2()) return narrow_float16(from, to, count);
  }
#endif
  if constexpr (SixteenBit<To> && stdlib::is_same_v<T, float>) {
    auto* const bits = reinterpret_cast<Bits16*>(to);
    vectorised([=]() MEZZO_INLINE_BODY {
      for (std::int64_t i = 0; i < count; ++i) bits[i] = encode_bits<To>(to_bits(from[i]));
    });
  } else {
    vectorised([=]() MEZZO_INLINE_BODY {
      for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
    });
  }
}

/// Elements of a row that are worked on at once, in buffers on the stack.
inline constexpr std::int64_t row_block = 256;

/// to[i] = from[i], or to[i] + from[i]; the sum in T, rounded once.
template <class To, class T>
inline void store_row(const T* from, To* to, std::int64_t count, Accumulate accumulate) {
  if (accumulate == Accumulate::no) return narrow_row(from, to, count);
  T sum[row_block];
  for (std::int64_t first = 0; first < count; first += row_block) {
    const std::int64_t width = count - first < row_block ? count - first : row_block;
    widen_row(to + first, sum, width);
    vectorised([&sum, more = from + first, width]() MEZZO_INLINE_BODY {
      for (std::int64_t i = 0; i < width; ++i) sum[i] += more[i];
    });
    narrow_row(sum, to + first, width);
  }
}

}  // namespace mezzo::detail::host
