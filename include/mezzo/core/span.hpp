#pragma once
// Entry points take any contiguous range; inside, a span is a pointer and a size.

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>

#include <mezzo/core/host_device.hpp>

#include <cuda/std/span>

namespace mezzo {

/// The span type of mezzo's own signatures; usable in device code without compiler flags.
template <class T>
using Span = ::cuda::std::span<T>;

namespace detail {

/// Containers whose `data()` is a pointer of their own kind are no std::ranges::contiguous_range: Thrust's, rmm's.
template <class Range>
concept HasDataAndSize = requires(Range& range) {
  range.data();
  { range.size() } -> std::integral;
};

template <HasDataAndSize Range>
constexpr auto data_of(Range& range) {
  return range.data();
}
template <class Range>
  requires(!HasDataAndSize<Range> && std::ranges::contiguous_range<Range>)
constexpr auto data_of(Range& range) {
  return std::ranges::data(range);
}

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
using range_element_t = std::remove_pointer_t<decltype(raw_pointer(data_of(std::declval<Range&>())))>;

}  // namespace detail

/// A range with data and size: vectors, arrays, std::span, cuda::std::span, Thrust and rmm vectors.
template <class Range>
concept ContiguousRange = detail::HasDataAndSize<Range> || std::ranges::contiguous_range<Range&>;

namespace detail {

/// Whether elements are gone with the range: a const container has const elements, a const span of floats has floats.
template <class Range>
inline constexpr bool owns_elements = false;
template <ContiguousRange Range>
  requires ContiguousRange<const Range>
inline constexpr bool owns_elements<Range> =
  !std::is_const_v<range_element_t<Range>> && std::is_const_v<range_element_t<const Range>>;

}  // namespace detail

/// The elements of any contiguous range as a span; const where the range's elements are const.
template <ContiguousRange Range>
constexpr auto as_span(Range&& range) {
  using T = detail::range_element_t<Range>;
  return Span<T>(detail::raw_pointer(detail::data_of(range)), static_cast<std::size_t>(std::size(range)));
}

}  // namespace mezzo
