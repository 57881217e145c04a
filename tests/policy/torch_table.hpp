// The table that torch_table.py wrote down from torch, row by row beside what mezzo's types say.
#pragma once

#include <array>
#include <string_view>

#include "types.hpp"

namespace mezzo::test::torch_table {

enum Cell {
  float16, bfloat16, float32, float64, int64, boolean,
  cannot,    // torch has no such kernel
  refused,   // autocast's own error; for mezzo: a compile error
  unary,     // the op has one floating argument, the case needs two
  disabled,  // a region, no cell
  other
};

inline constexpr int case_count = 9;
using Cells = std::array<Cell, case_count>;
enum Case { half, brain, single, wide, integer, half_single, single_half, half_brain, half_wide };

template <class T>
inline constexpr Cell cell_of = other;
template <> inline constexpr Cell cell_of<mezzo::float16> = float16;
template <> inline constexpr Cell cell_of<mezzo::bfloat16> = bfloat16;
template <> inline constexpr Cell cell_of<float> = float32;
template <> inline constexpr Cell cell_of<double> = float64;
template <> inline constexpr Cell cell_of<std::int64_t> = int64;
template <> inline constexpr Cell cell_of<bool> = boolean;

template <class Policy, class Op>
struct Ours {
  static constexpr bool refuses = Policy::is_enabled && Op::rule == CastRule::banned;

  template <class A, class B>
  static constexpr Cell result() {
    if constexpr (refuses) return refused;
    else return cell_of<result_type_t<Policy, Op, A, B>>;
  }
  template <class A, class B>
  static constexpr Cell argument() {
    if constexpr (refuses) return refused;
    else return cell_of<argument_type_t<Policy, Op, A, B>>;
  }
  using h = mezzo::float16;
  using b = mezzo::bfloat16;
  using i = std::int64_t;
  static constexpr Cells results{result<h, h>(), result<b, b>(), result<float, float>(), result<double, double>(), result<i, i>(),
                                 result<h, float>(), result<float, h>(), result<h, b>(), result<h, double>()};
  static constexpr Cells arguments{argument<h, h>(), argument<b, b>(), argument<float, float>(), argument<double, double>(),
                                   argument<i, i>(), argument<h, float>(), argument<float, h>(), argument<h, b>(), argument<h, double>()};
};

/// mezzo's cells for one line of the table.
template <class Op>
constexpr const Cells& ours(Cell region, bool of_result) {
  using F16 = Autocast<mezzo::float16>;
  using BF16 = Autocast<mezzo::bfloat16>;
  if (region == float16) return of_result ? Ours<F16, Op>::results : Ours<F16, Op>::arguments;
  if (region == bfloat16) return of_result ? Ours<BF16, Op>::results : Ours<BF16, Op>::arguments;
  return of_result ? Ours<F16::disabled, Op>::results : Ours<F16::disabled, Op>::arguments;
}

struct Line {
  std::string_view op;
  std::string_view tag;  // the name that the tag gives itself
  CastRule rule;
  Cell region;
  bool of_result;
  Cells torch;
  Cells mezzo;
};

template <class Op>
constexpr Line line(std::string_view op, Cell region, bool of_result, const Cells& torch) {
  return {op, Op::name, Op::rule, region, of_result, torch, ours<Op>(region, of_result)};
}

#define TORCH_RESULT(op_name, region, ...) line<op::op_name>(#op_name, region, true, Cells{__VA_ARGS__}),
#define TORCH_ARGUMENT(op_name, region, ...) line<op::op_name>(#op_name, region, false, Cells{__VA_ARGS__}),
inline constexpr Line lines[] = {
#include "torch_table.inc"
};
#undef TORCH_RESULT
#undef TORCH_ARGUMENT

}  // namespace mezzo::test::torch_table
