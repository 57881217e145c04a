#pragma once
// Entry points take any contiguous range; inside, a span is a pointer and a size.

#include <concepts>
#include <cstddef>
#include <memory>
#include <ranges>
#include <type_traits>

#include <cuda/std/span>

namespace mezzo {

/// The span type of mezzo's own signatures; usable in device code without compiler flags.
template <class T>
using Span = ::cuda::std::span<T>;

/// A range with data and size: vectors, arrays, std::span, cuda::std::span, Thrust and rmm vectors.
template <class Range>
concept ContiguousRange = requires(Range& range) {
  range.data();
  range.size();
} && requires(Range& range) { requires std::integral<decltype(range.size())>; };

namespace detail {

/// Thrust's `data()` is a fancy pointer; everything else's is plain.
template <class Pointer>
constexpr auto raw_pointer(Pointer pointer) {
  if constexpr (std::is_pointer_v<Pointer>) {
    return pointer;
  } else if constexpr (requires { pointer.get(); }) {
    return pointer.get();
  } else {
    return std::to_address(pointer);
  }
}

template <class Range>
using range_element_t = std::remove_pointer_t<decltype(raw_pointer(std::declval<Range&>().data()))>;

}  // namespace detail

/// The elements of any contiguous range as a span; const where the range's elements are const.
template <ContiguousRange Range>
constexpr auto as_span(Range&& range) {
  using T = detail::range_element_t<Range>;
  return Span<T>(detail::raw_pointer(range.data()), static_cast<std::size_t>(range.size()));
}

}  // namespace mezzo
