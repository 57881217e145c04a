#pragma once
// Which element types an argument of a call brings: a value, a container of values, or data.

#include <mezzo/numeric/promote.hpp>
#include <mezzo/policy/scaled.hpp>

namespace mezzo::detail {

template <class... Types>
struct TypeList {};

template <class... Lists>
struct Concatenated {
  using type = TypeList<>;
};
template <class... A>
struct Concatenated<TypeList<A...>> {
  using type = TypeList<A...>;
};
template <class... A, class... B, class... Rest>
struct Concatenated<TypeList<A...>, TypeList<B...>, Rest...> : Concatenated<TypeList<A..., B...>, Rest...> {};

/// A single number: an element type, an integer or a bool.
template <class T>
concept Number = Element<T> || stdlib::is_integral_v<T>;

/// Data that an op reads in place: a pointer, an iterator, an mdspan, or anything with value_type, begin() and size().
template <class T>
MEZZO_HOST_DEVICE constexpr auto data_element() {
  if constexpr (stdlib::is_pointer_v<T>) {
    return stdlib::type_identity<stdlib::remove_cv_t<stdlib::remove_pointer_t<T>>>{};
  } else if constexpr (stdlib::is_array_v<T>) {
    return stdlib::type_identity<stdlib::remove_cv_t<stdlib::remove_all_extents_t<T>>>{};
  } else if constexpr (requires(T& x) { typename T::value_type; x.begin(); x.size(); } ||
                       requires(T& x) { typename T::value_type; typename T::difference_type; *x; } ||
                       requires { typename T::value_type; typename T::accessor_type; }) {
    return stdlib::type_identity<stdlib::remove_cv_t<typename T::value_type>>{};
  } else if constexpr (requires(T& x) { typename T::element_type; x.get(); }) {  // smart and fancy pointers
    return stdlib::type_identity<stdlib::remove_cv_t<typename T::element_type>>{};
  } else {
    return stdlib::type_identity<void>{};
  }
}

template <class T>
using data_element_t = typename decltype(data_element<T>())::type;

/// Data whose elements are numbers; text is not.
template <class T>
concept NumberData = Number<data_element_t<T>> && !stdlib::is_same_v<data_element_t<T>, char>;

/// Data of data: a list of spans or pointers, such as the operands of a concatenation or a batched product.
template <class T>
concept DataList = NumberData<data_element_t<T>>;

/// A stand-in for one value, such as what operator[] of a Thrust vector or of a converting view returns.
template <class T>
concept ValueProxy = stdlib::is_class_v<T> && requires { typename T::value_type; } && Element<typename T::value_type> &&
                     stdlib::is_convertible_v<const T&, typename T::value_type>;

#ifdef __CUDACC_RTC__
template <class T>
concept TupleLike = requires { ::cuda::std::tuple_size<T>::value; };
template <class T>
using tuple_size = ::cuda::std::tuple_size<T>;
template <stdlib::size_t Index, class T>
using tuple_element_t = ::cuda::std::tuple_element_t<Index, T>;
#else
/// Tuples, pairs and arrays of values, of any library.
template <class T>
concept TupleLike = requires { ::std::tuple_size<T>::value; };
template <class T>
using tuple_size = ::std::tuple_size<T>;
template <stdlib::size_t Index, class T>
using tuple_element_t = ::std::tuple_element_t<Index, T>;
#endif

/// std::optional, cuda::std::optional and their kin.
template <class T>
concept OptionalLike = requires(const T& x) {
  typename T::value_type;
  static_cast<bool>(x.has_value());
  *x;
};

/// The inside of `with_scale(...)`; anything else is itself.
template <class T>
struct Unscaled {
  using type = T;
};
template <class T>
struct Unscaled<Scaled<T>> {
  using type = stdlib::remove_cvref_t<T>;
};

template <class T>
MEZZO_HOST_DEVICE constexpr auto elements_of();

template <class T, stdlib::size_t... Index>
MEZZO_HOST_DEVICE constexpr auto elements_of_members(stdlib::index_sequence<Index...>) {
  return typename Concatenated<decltype(elements_of<stdlib::remove_cvref_t<tuple_element_t<Index, T>>>())...>::type{};
}

/// The element types inside `T`; none for a type that holds no numbers.
template <class T>
MEZZO_HOST_DEVICE constexpr auto elements_of() {
  static_assert(!stdlib::is_floating_point_v<T> || Element<T>,
    "autocast: long double is no element type of mezzo and has no form on the device. Pass a double.");
  static_assert(!stdlib::is_same_v<T, __half2> && !stdlib::is_same_v<T, __nv_bfloat162>,
    "autocast: packed pairs (__half2, __nv_bfloat162) are not cast. Pass their two values, or a view of the elements.");
  if constexpr (is_scaled<T>) {
    return elements_of<typename Unscaled<T>::type>();
  } else if constexpr (Number<T>) {
    return TypeList<T>{};
  } else if constexpr (TupleLike<T>) {
    return elements_of_members<T>(stdlib::make_index_sequence<tuple_size<T>::value>{});
  } else if constexpr (OptionalLike<T>) {
    return elements_of<stdlib::remove_cv_t<typename T::value_type>>();
  } else if constexpr (NumberData<T>) {
    return TypeList<data_element_t<T>>{};
  } else if constexpr (DataList<T>) {
    return TypeList<data_element_t<data_element_t<T>>>{};
  } else if constexpr (ValueProxy<T>) {
    return TypeList<typename T::value_type>{};
  } else {
    return TypeList<>{};
  }
}

template <class... Args>
struct ElementsOfAll {
  using type = typename Concatenated<decltype(elements_of<Args>())...>::type;
};
template <class... Args>
  requires(Number<Args> && ...)
struct ElementsOfAll<Args...> {  // the common case, made cheap
  using type = TypeList<Args...>;
};

template <class... Args>
using elements_of_all_t = typename ElementsOfAll<stdlib::remove_cvref_t<Args>...>::type;

}  // namespace mezzo::detail
