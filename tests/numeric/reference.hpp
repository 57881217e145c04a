// Rounding by search, in integers only: the reference for every conversion.
//
// A format is a row of values in increasing order, pattern p standing for value p. Between two neighbours lies their
// midpoint; what is below it goes down, what is above goes up, and the midpoint itself goes to the even pattern. Values are
// compared as bit patterns of the (finer) source format, which order as the values do. Nothing here knows how the library
// rounds, and nothing comes from the toolkit's headers.
#pragma once

#include <cstdint>
#include <vector>

namespace reference {

struct Format {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr std::uint64_t sign() const { return std::uint64_t{1} << (bits() - 1); }
  /// Patterns of finite magnitudes are [0, finite_end()); an IEEE format ends at infinity, E4M3 at its one NaN.
  constexpr std::uint64_t finite_end() const {
    const std::uint64_t all = (std::uint64_t{1} << (exponent_bits + fraction_bits)) - 1;
    return has_infinity ? all >> fraction_bits << fraction_bits : all;
  }
  constexpr std::uint64_t largest() const { return finite_end() - 1; }
  constexpr bool is_nan(std::uint64_t pattern) const {
    const std::uint64_t magnitude = pattern & (sign() - 1);
    return has_infinity ? magnitude > finite_end() : magnitude == finite_end();
  }
};

inline constexpr Format f16{5, 10, true}, bf16{8, 7, true}, e4m3{4, 3, false}, e5m2{5, 2, true}, f32{8, 23, true}, f64{11, 52, true};

/// The value m * 2^e.
struct Dyadic {
  std::uint64_t m;
  int e;
};

/// Magnitude pattern `p` read as if exponents went on beyond the largest.
constexpr Dyadic value(const Format& format, std::uint64_t p) {
  const std::uint64_t fraction = p & ((std::uint64_t{1} << format.fraction_bits) - 1);
  const int field = static_cast<int>(p >> format.fraction_bits);
  if (field == 0) return {fraction, 1 - format.bias() - format.fraction_bits};
  return {fraction | (std::uint64_t{1} << format.fraction_bits), field - format.bias() - format.fraction_bits};
}

/// Magnitude pattern of a value that the format holds exactly.
constexpr std::uint64_t pattern(const Format& format, Dyadic v) {
  if (v.m == 0) return 0;
  const int smallest = 1 - format.bias() - format.fraction_bits;
  while (v.m >> (format.fraction_bits + 1) != 0) v = {v.m >> 1, v.e + 1};  // exact: the bits that leave are zero
  while (v.m >> format.fraction_bits == 0 && v.e > smallest) v = {v.m << 1, v.e - 1};
  while (v.e < smallest) v = {v.m >> 1, v.e + 1};
  if (v.m >> format.fraction_bits == 0) return v.m;
  const auto field = static_cast<std::uint64_t>(v.e + format.bias() + format.fraction_bits);
  return (field << format.fraction_bits) | (v.m & ((std::uint64_t{1} << format.fraction_bits) - 1));
}

/// The midpoint between patterns p and p + 1.
constexpr Dyadic midpoint(const Format& format, std::uint64_t p) {
  const Dyadic low = value(format, p), high = value(format, p + 1);
  return {low.m + (high.m << (high.e - low.e)), low.e - 1};
}

/// Rounds from one format to a narrower one.
class Rounding {
 public:
  Rounding(const Format& from, const Format& to) : from_(from), to_(to) {
    for (std::uint64_t p = 0; to.bits() <= 16 && p < to.finite_end(); ++p) midpoints_.push_back(pattern(from, midpoint(to, p)));
  }

  /// The pattern that `source` rounds to; any NaN of `to` stands for all.
  std::uint64_t operator()(std::uint64_t source, bool saturate) const {
    std::uint64_t low = 0, high = to_.finite_end();  // the result's magnitude lies in [low, high]
    const std::uint64_t magnitude = source & (from_.sign() - 1);
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (goes_up(magnitude, middle)) low = middle + 1; else high = middle;
    }
    return finish(source, low, saturate);
  }

  /// The same for sources of growing magnitude, starting from the last result.
  std::uint64_t next(std::uint64_t source, bool saturate) {
    const std::uint64_t magnitude = source & (from_.sign() - 1);
    while (at_ < to_.finite_end() && goes_up(magnitude, at_)) ++at_;
    return finish(source, at_, saturate);
  }

 private:
  std::uint64_t midpoint_pattern(std::uint64_t p) const {
    return midpoints_.empty() ? pattern(from_, midpoint(to_, p)) : midpoints_[p];
  }
  /// Whether a magnitude belongs above pattern p.
  bool goes_up(std::uint64_t magnitude, std::uint64_t p) const {
    const std::uint64_t tie = midpoint_pattern(p);
    return magnitude > tie || (magnitude == tie && p % 2 == 1);
  }
  std::uint64_t finish(std::uint64_t source, std::uint64_t magnitude, bool saturate) const {
    const std::uint64_t sign = (source & from_.sign()) != 0 ? to_.sign() : 0;
    if (from_.is_nan(source)) return sign | (to_.sign() - 1);  // a NaN in every format
    if (saturate && magnitude == to_.finite_end()) magnitude = to_.largest();
    return sign | magnitude;
  }

  Format from_, to_;
  std::vector<std::uint64_t> midpoints_;
  std::uint64_t at_ = 0;
};

/// A pattern in a format that holds all values of the narrower one; NaN stands for all NaNs, infinity becomes infinity.
constexpr std::uint64_t widened(const Format& from, const Format& to, std::uint64_t source) {
  const std::uint64_t sign = (source & from.sign()) != 0 ? to.sign() : 0;
  const std::uint64_t magnitude = source & (from.sign() - 1);
  if (from.is_nan(source)) return sign | (to.sign() - 1);
  if (magnitude == from.finite_end()) return sign | to.finite_end();
  return sign | pattern(to, value(from, magnitude));
}

}  // namespace reference
