#pragma once
// Run-time checks of shapes and sizes that all ops share.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string_view>

#include <mezzo/core/error.hpp>
#include <mezzo/core/span.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail {

/// Where a check stands: the op's name and the user's line.
struct OpSite {
  const char* op;
  const std::source_location& where;
};

inline void check_at_least(const OpSite& site, std::string_view field, std::int64_t value, std::int64_t least) {
  if (value < least) fail<InvalidArgument>(site.where, site.op, "shape.", field, " must be at least ", least, ", got ", value);
}

/// The product of the dimensions; refused when its bytes do not fit into 63 bits.
inline std::size_t element_count(const OpSite& site, std::string_view operand, std::initializer_list<std::int64_t> dimensions) {
  std::int64_t count = 1;
  bool empty = false;
  bool overflow = false;
  for (const std::int64_t dimension : dimensions) {
    if (dimension == 0) {
      empty = true;  // the others are checked all the same
    } else {
      overflow = __builtin_mul_overflow(count, dimension, &count) || overflow;
    }
  }
  if (overflow || count > INT64_MAX / 16) {
    fail<InvalidArgument>(site.where, site.op, "the shape gives ", operand, " more elements than 64 bits can address");
  }
  if (empty) return 0;
  return static_cast<std::size_t>(count);
}

/// Checks the data of a batch norm or a global pool; gives its elements.
inline std::size_t check_shape(const OpSite& site, const ImageShape& shape) {
  check_at_least(site, "batch", shape.batch, 0);
  check_at_least(site, "height", shape.height, 1);
  check_at_least(site, "width", shape.width, 1);
  check_at_least(site, "channels", shape.channels, 1);
  return element_count(site, "x", {shape.batch, shape.height, shape.width, shape.channels});
}

template <class T>
void check_size(const OpSite& site, std::string_view operand, Span<T> got, std::size_t expected) {
  if (got.size() != expected) {
    fail<InvalidArgument>(site.where, site.op, operand, " must have ", expected, " elements, got ", got.size());
  }
  if (expected != 0 && got.data() == nullptr) fail<InvalidArgument>(site.where, site.op, operand, " must not be null");
}

/// The memory of an operand, and the name that messages give it.
struct Extent {
  std::string_view name;
  std::uintptr_t begin;
  std::size_t bytes;

  template <class T>
  Extent(std::string_view operand, Span<T> span)
      : name(operand), begin(reinterpret_cast<std::uintptr_t>(span.data())), bytes(span.size_bytes()) {}
};

/// Refuses an output that shares memory with an input, for ops that read after they write.
inline void check_apart(const OpSite& site, const Extent& out, const Extent& in) {
  if (out.bytes == 0 || in.bytes == 0) return;
  if (out.begin < in.begin + in.bytes && in.begin < out.begin + out.bytes) {
    fail<InvalidArgument>(site.where, site.op, out.name, " must not overlap ", in.name);
  }
}
template <class Out, class In>
void check_apart(const OpSite& site, std::string_view output, Span<Out> out, std::string_view input, Span<In> in) {
  check_apart(site, Extent(output, out), Extent(input, in));
}

/// The same for every output and every input, and for the outputs among themselves.
template <std::size_t N, std::size_t M>
void check_all_apart(const OpSite& site, const Extent (&outputs)[N], const Extent (&inputs)[M]) {
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < M; ++j) check_apart(site, outputs[i], inputs[j]);
    for (std::size_t j = 0; j < i; ++j) check_apart(site, outputs[i], outputs[j]);
  }
}

/// The same for an element-wise op, which may also work in place: the output is the input, element for element.
template <class Out, class In>
void check_apart_or_same(const OpSite& site, std::string_view output, Span<Out> out, std::string_view input, Span<In> in) {
  const bool same = static_cast<const void*>(out.data()) == static_cast<const void*>(in.data()) && sizeof(Out) == sizeof(In);
  if (!same) check_apart(site, output, out, input, in);
}

}  // namespace mezzo::detail
