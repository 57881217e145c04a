#pragma once
// The converting views of mdspans: an accessor that converts as it loads and stores.

#include <cuda/std/mdspan>

#include <mezzo/policy/view.hpp>

namespace mezzo {

/// mdspan accessor policy over data stored as `Stored` (const for read-only) and seen as `T`.
///
/// Reading gives a `T`; writing, where `Stored` is not const, rounds once. Models the AccessorPolicy of `std::mdspan` too.
template <class T, class Stored>
struct ConvertingAccessor {
  using element_type = stdlib::conditional_t<stdlib::is_const_v<Stored>, const T, T>;
  using data_handle_type = Stored*;
  using reference = typename detail::ElementAccess<T, Stored, detail::NoFactor>::reference;
  using offset_policy = ConvertingAccessor;

  MEZZO_HOST_DEVICE constexpr reference access(Stored* data, stdlib::size_t i) const {
    return detail::ElementAccess<T, Stored, detail::NoFactor>::at(data + i, detail::NoFactor{});
  }
  MEZZO_HOST_DEVICE constexpr Stored* offset(Stored* data, stdlib::size_t i) const { return data + i; }
};

/// An mdspan whose elements convert; layout and extents are those of the data.
template <class T, class Stored, class Extents, class Layout>
using ConvertingMdspan =
  ::cuda::std::mdspan<typename ConvertingAccessor<T, Stored>::element_type, Extents, Layout, ConvertingAccessor<T, Stored>>;

/// `data` seen as elements of `T`. Only mdspans with the default accessor: a second conversion would hide the first.
template <Element T, class Stored, class Extents, class Layout>
MEZZO_HOST_DEVICE constexpr auto convert_view(const ::cuda::std::mdspan<Stored, Extents, Layout>& data) {
  return ConvertingMdspan<T, Stored, Extents, Layout>(data.data_handle(), data.mapping());
}

/// The read-only view of an argument that `Op` reads under `Policy`, in the shape of `data`.
///
///     auto x = argument_view<Policy, op::layer_norm>(activations);     // [N, D] float16 in memory, x(n, d) is a float
template <class Policy, class Op, class... Others, class Stored, class Extents, class Layout>
MEZZO_HOST_DEVICE constexpr auto argument_view(const ::cuda::std::mdspan<Stored, Extents, Layout>& data) {
  using T = argument_type_t<Policy, Op, Stored, Others...>;
  static_assert(!EightBit<T> || stdlib::is_same_v<T, stdlib::remove_const_t<Stored>>,
    "argument_view: nothing is cast to an 8-bit type without a scale, and an mdspan view has none. Store the data in 8 bits, or "
    "use with_scale on its span (mezzo/policy/scaled.hpp).");
  return ConvertingMdspan<T, const Stored, Extents, Layout>(data.data_handle(), data.mapping());
}

/// The writable view of a result, in the shape of `data`.
template <class Policy, class Op, class... Args, class Stored, class Extents, class Layout>
MEZZO_HOST_DEVICE constexpr auto result_view(const ::cuda::std::mdspan<Stored, Extents, Layout>& data) {
  static_assert(!stdlib::is_const_v<Stored>, "result_view: the mdspan has const elements; a result is written to it.");
  return ConvertingMdspan<result_type_t<Policy, Op, Args...>, Stored, Extents, Layout>(data.data_handle(), data.mapping());
}

namespace detail {

template <class Accessor>
struct refuse_accessor {
  static_assert(sizeof(Accessor) == 0,
    "a view of an mdspan needs one with the default accessor: a second conversion would hide the first. Make the view of the data's "
    "own mdspan.");
};

}  // namespace detail

/// Refused: an mdspan that converts already, or has another accessor of its own.
template <Element T, class Stored, class Extents, class Layout, class Accessor>
MEZZO_HOST_DEVICE constexpr auto convert_view(const ::cuda::std::mdspan<Stored, Extents, Layout, Accessor>&) {
  return detail::refuse_accessor<Accessor>();
}
template <class Policy, class Op, class... Others, class Stored, class Extents, class Layout, class Accessor>
MEZZO_HOST_DEVICE constexpr auto argument_view(const ::cuda::std::mdspan<Stored, Extents, Layout, Accessor>&) {
  return detail::refuse_accessor<Accessor>();
}
template <class Policy, class Op, class... Args, class Stored, class Extents, class Layout, class Accessor>
MEZZO_HOST_DEVICE constexpr auto result_view(const ::cuda::std::mdspan<Stored, Extents, Layout, Accessor>&) {
  return detail::refuse_accessor<Accessor>();
}

}  // namespace mezzo
