#pragma once
// Checks that the pooling ops share.

#include <cstddef>

#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail {

struct PoolCounts {
  std::size_t x, y;
};

inline PoolCounts pool_counts(const OpSite& site, const Pool2dShape& shape) {
  check_at_least(site, "batch", shape.batch, 0);
  check_at_least(site, "channels", shape.channels, 1);
  check_at_least(site, "window", shape.window, 1);
  check_at_least(site, "stride", shape.stride, shape.window);
  check_at_least(site, "height", shape.height, shape.window);
  check_at_least(site, "width", shape.width, shape.window);
  return {.x = element_count(site, "x", {shape.batch, shape.height, shape.width, shape.channels}),
          .y = element_count(site, "y", {shape.batch, shape.out_height(), shape.out_width(), shape.channels})};
}

inline PoolCounts pool_counts(const OpSite& site, const ImageShape& shape) {
  const std::size_t x = check_shape(site, shape);
  return {.x = x, .y = element_count(site, "y", {shape.batch, shape.channels})};
}

/// What a call reads, then what it writes.
template <class T>
struct PoolSpans {
  Span<const T> in;
  Span<T> out;
};

/// Checks a forward call and gives its operands as spans.
template <class Policy, class Op, class Shape, class X, class Y>
PoolSpans<element_of_t<X>> pooled(const OpSite& site, const Shape& shape, X&& x, Y&& y) {
  using T = element_of_t<X>;
  static_assert(hold_elements<X, Y>,
    "pooling: operands must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(writable<Y>, "pooling: y is written, so its elements must not be const.");
  static_assert(reads_as_is<Policy, Op, T> && std::is_same_v<result_type_t<Policy, Op, T>, T> && std::is_same_v<element_of_t<Y>, T>,
    "pooling: x must have the element type that the policy reads (argument_type_t<Policy, Op, X>) and y the one that it returns, "
    "the same: pooling casts nothing.");
  const PoolCounts counts = pool_counts(site, shape);
  const auto in = as_span(x);
  const auto out = as_span(y);
  check_size(site, "x", in, counts.x);
  check_size(site, "y", out, counts.y);
  check_apart(site, "y", out, "x", in);
  return {in, out};
}

/// Checks a backward call: dy, then dx.
template <class Policy, class Op, class Shape, class DY, class DX>
PoolSpans<element_of_t<DY>> unpooled(const OpSite& site, const Shape& shape, DY&& dy, DX&& dx) {
  using T = element_of_t<DY>;
  static_assert(hold_elements<DY, DX>,
    "pooling: gradients must hold element types (float16, bfloat16, float, double). Convert integers and 8-bit data first.");
  static_assert(writable<DX>, "pooling: dx is written, so its elements must not be const.");
  static_assert(reads_as_is<Policy, Op, T> && std::is_same_v<element_of_t<DX>, T>,
    "pooling: dy must have the element type that the policy reads (argument_type_t<Policy, Op, DY>) and dx the same: pooling "
    "casts nothing.");
  const PoolCounts counts = pool_counts(site, shape);
  const auto gradient = as_span(dy);
  const auto out = as_span(dx);
  check_size(site, "dy", gradient, counts.y);
  check_size(site, "dx", out, counts.x);
  check_apart(site, "dx", out, "dy", gradient);
  return {gradient, out};
}

}  // namespace mezzo::detail
