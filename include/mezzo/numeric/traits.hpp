#pragma once
// What each element type's format is: widths, largest value, smallest step, special values.

#include <mezzo/numeric/types.hpp>

namespace mezzo {

namespace detail {

template <class T, class Bits, ElementType Type, int ExponentBits, int FractionBits, bool HasInfinity>
struct Format {
  using bits_type = Bits;
  static constexpr ElementType type = Type;
  static constexpr int exponent_bits = ExponentBits;
  static constexpr int fraction_bits = FractionBits;
  static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  static constexpr bool has_infinity = HasInfinity;
  /// Exponent of the smallest normal value, and of the largest binade.
  static constexpr int min_exponent = 1 - bias;
  static constexpr int max_exponent = HasInfinity ? bias : bias + 1;
  static constexpr Bits sign_mask = static_cast<Bits>(Bits{1} << (ExponentBits + FractionBits));
  static constexpr Bits exponent_mask = static_cast<Bits>(((Bits{1} << ExponentBits) - 1) << FractionBits);
  static constexpr Bits fraction_mask = static_cast<Bits>((Bits{1} << FractionBits) - 1);
  /// The pattern of +infinity where the format has one; of NaN where it has none (E4M3).
  static constexpr Bits overflow_bits = static_cast<Bits>(HasInfinity ? exponent_mask : (exponent_mask | fraction_mask));
  static constexpr Bits quiet_nan_bits =
      static_cast<Bits>(HasInfinity ? (exponent_mask | (Bits{1} << (FractionBits - 1))) : overflow_bits);
  static constexpr Bits max_bits = static_cast<Bits>(overflow_bits - 1);
};

}  // namespace detail

/// Format of an element type; undefined for any other type.
template <class T>
struct element_traits;

template <>
struct element_traits<float16> : detail::Format<float16, stdlib::uint16_t, ElementType::f16, 5, 10, true> {
  static constexpr const char* name = "float16";
};
template <>
struct element_traits<bfloat16> : detail::Format<bfloat16, stdlib::uint16_t, ElementType::bf16, 8, 7, true> {
  static constexpr const char* name = "bfloat16";
};
template <>
struct element_traits<float8_e4m3> : detail::Format<float8_e4m3, stdlib::uint8_t, ElementType::f8_e4m3, 4, 3, false> {
  static constexpr const char* name = "float8_e4m3";
};
template <>
struct element_traits<float8_e5m2> : detail::Format<float8_e5m2, stdlib::uint8_t, ElementType::f8_e5m2, 5, 2, true> {
  static constexpr const char* name = "float8_e5m2";
};
template <>
struct element_traits<float> : detail::Format<float, stdlib::uint32_t, ElementType::f32, 8, 23, true> {
  static constexpr const char* name = "float32";
};
template <>
struct element_traits<double> : detail::Format<double, stdlib::uint64_t, ElementType::f64, 11, 52, true> {
  static constexpr const char* name = "float64";
};

/// One of mezzo's six element types.
template <class T>
concept Element = requires { element_traits<T>::type; };

/// float16 or bfloat16.
template <class T>
concept SixteenBit = stdlib::is_same_v<T, float16> || stdlib::is_same_v<T, bfloat16>;

/// One of the two 8-bit formats.
template <class T>
concept EightBit = stdlib::is_same_v<T, float8_e4m3> || stdlib::is_same_v<T, float8_e5m2>;

/// float or double: wide enough to be unscaled in place.
template <class T>
concept FullPrecision = stdlib::is_same_v<T, float> || stdlib::is_same_v<T, double>;

template <Element T>
inline constexpr ElementType element_type_of = element_traits<T>::type;

/// Name of a type for messages: `float16`.
MEZZO_HOST_DEVICE constexpr const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::f16: return element_traits<float16>::name;
    case ElementType::bf16: return element_traits<bfloat16>::name;
    case ElementType::f8_e4m3: return element_traits<float8_e4m3>::name;
    case ElementType::f8_e5m2: return element_traits<float8_e5m2>::name;
    case ElementType::f32: return element_traits<float>::name;
    case ElementType::f64: return element_traits<double>::name;
  }
  return "unknown";
}

/// Bytes of one element.
MEZZO_HOST_DEVICE constexpr stdlib::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::f16:
    case ElementType::bf16: return 2;
    case ElementType::f8_e4m3:
    case ElementType::f8_e5m2: return 1;
    case ElementType::f32: return 4;
    case ElementType::f64: return 8;
  }
  return 0;
}

}  // namespace mezzo
