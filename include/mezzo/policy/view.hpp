#pragma once
// Views that convert as they load and store: data stays in one type, the kernel sees another, and no pass is added.

#include <mezzo/policy/call.hpp>

#ifdef __CUDACC_RTC__
#include <cuda/std/iterator>
#else
#include <array>
#endif

namespace mezzo {

namespace detail {

#ifdef __CUDACC_RTC__
using RandomAccess = ::cuda::std::random_access_iterator_tag;
#else
/// std::random_access_iterator_tag by way of <array>: <iterator> costs a second of nvcc's time, for streams that nobody needs here.
using RandomAccess = ::std::array<int, 1>::reverse_iterator::iterator_category;
#endif

/// Reads and writes one element of a view: converts to `T` when read, to the stored type when written.
template <class T, class Stored>
class ConvertingReference {
 public:
  using value_type = T;

  MEZZO_HOST_DEVICE constexpr explicit ConvertingReference(Stored* element) : element_(element) {}
  ConvertingReference(const ConvertingReference&) = default;

  MEZZO_HOST_DEVICE constexpr operator T() const { return convert<T>(*element_); }  // NOLINT: reads like the element
  MEZZO_HOST_DEVICE constexpr const ConvertingReference& operator=(T value) const {
    *element_ = convert<Stored>(value);
    return *this;
  }
  MEZZO_HOST_DEVICE constexpr const ConvertingReference& operator=(const ConvertingReference& other) const {
    return *this = static_cast<T>(other);
  }
  MEZZO_HOST_DEVICE constexpr ConvertingReference& operator=(const ConvertingReference& other) {
    *this = static_cast<T>(other);
    return *this;
  }
  MEZZO_HOST_DEVICE constexpr const ConvertingReference& operator+=(T value) const requires FullPrecision<T> {
    return *this = static_cast<T>(*this) + value;
  }
  MEZZO_HOST_DEVICE constexpr const ConvertingReference& operator*=(T value) const requires FullPrecision<T> {
    return *this = static_cast<T>(*this) * value;
  }

 private:
  Stored* element_;
};

/// One element of data stored as `Stored` and seen as `T`: the element itself, its value, or a reference that converts.
template <class T, class Stored, class Factor>
struct ElementAccess {
  using Plain = stdlib::remove_const_t<Stored>;
  static constexpr bool is_plain = stdlib::is_same_v<T, Plain> && stdlib::is_same_v<Factor, NoFactor>;
  static_assert(stdlib::is_const_v<Stored> || stdlib::is_same_v<Factor, NoFactor>,
    "a view with a scale is read-only. Make it from const data, or divide before you store.");

  MEZZO_HOST_DEVICE static constexpr decltype(auto) at(Stored* element, [[maybe_unused]] const Factor& factor) {
    if constexpr (is_plain) {
      return static_cast<Stored&>(*element);
    } else if constexpr (stdlib::is_const_v<Stored>) {
      return factor.template apply<T>(Plain(*element));
    } else {
      return ConvertingReference<T, Stored>(element);
    }
  }
  using reference = decltype(at(nullptr, stdlib::declval<const Factor&>()));
};

}  // namespace detail

/// Random-access iterator of a ConvertingView, for Thrust and the standard algorithms. Give Thrust its execution policy
/// (`thrust::device`): the iterator does not know where its data lives.
template <class T, class Stored, class Factor = detail::NoFactor>
class ConvertingIterator {
  using Access = detail::ElementAccess<T, Stored, Factor>;
  using Self = ConvertingIterator;

 public:
  using value_type = T;
  using difference_type = stdlib::ptrdiff_t;
  using reference = typename Access::reference;
  using pointer = void;
  using iterator_category = detail::RandomAccess;

  ConvertingIterator() = default;
  MEZZO_HOST_DEVICE constexpr explicit ConvertingIterator(Stored* element, Factor factor = {})
      : element_(element), factor_(factor) {}

  MEZZO_HOST_DEVICE constexpr reference operator*() const { return Access::at(element_, factor_); }
  MEZZO_HOST_DEVICE constexpr reference operator[](difference_type n) const { return Access::at(element_ + n, factor_); }

  MEZZO_HOST_DEVICE constexpr Self& operator+=(difference_type n) { element_ += n; return *this; }
  MEZZO_HOST_DEVICE constexpr Self& operator-=(difference_type n) { element_ -= n; return *this; }
  MEZZO_HOST_DEVICE constexpr Self& operator++() { ++element_; return *this; }
  MEZZO_HOST_DEVICE constexpr Self& operator--() { --element_; return *this; }
  MEZZO_HOST_DEVICE constexpr Self operator++(int) { Self old = *this; ++element_; return old; }
  MEZZO_HOST_DEVICE constexpr Self operator--(int) { Self old = *this; --element_; return old; }

  MEZZO_HOST_DEVICE friend constexpr Self operator+(Self it, difference_type n) { return it += n; }
  MEZZO_HOST_DEVICE friend constexpr Self operator+(difference_type n, Self it) { return it += n; }
  MEZZO_HOST_DEVICE friend constexpr Self operator-(Self it, difference_type n) { return it -= n; }
  MEZZO_HOST_DEVICE friend constexpr difference_type operator-(const Self& a, const Self& b) { return a.element_ - b.element_; }
  MEZZO_HOST_DEVICE friend constexpr bool operator==(const Self& a, const Self& b) { return a.element_ == b.element_; }
  MEZZO_HOST_DEVICE friend constexpr bool operator!=(const Self& a, const Self& b) { return a.element_ != b.element_; }
  MEZZO_HOST_DEVICE friend constexpr bool operator<(const Self& a, const Self& b) { return a.element_ < b.element_; }
  MEZZO_HOST_DEVICE friend constexpr bool operator>(const Self& a, const Self& b) { return b < a; }
  MEZZO_HOST_DEVICE friend constexpr bool operator<=(const Self& a, const Self& b) { return !(b < a); }
  MEZZO_HOST_DEVICE friend constexpr bool operator>=(const Self& a, const Self& b) { return !(a < b); }

 private:
  Stored* element_ = nullptr;
  [[no_unique_address]] Factor factor_ = {};
};

/// Data that is `Stored` in memory and `T` to the reader: each element is converted, rounded once, as it is loaded or stored.
///
/// A pointer and a size; copied by value, usable on host and device, as a kernel argument too. Over const data an element
/// reads as a `T`; over mutable data it is a reference that converts both ways. Where both types agree it is the plain element.
/// The data stays the user's and must outlive the view.
template <class T, class Stored, class Factor = detail::NoFactor>
class ConvertingView {
  static_assert(Element<T> && Element<stdlib::remove_const_t<Stored>>,
    "ConvertingView: both types must be element types: float16, bfloat16, float, double or an 8-bit type.");
  using Access = detail::ElementAccess<T, Stored, Factor>;

 public:
  using value_type = T;
  using stored_type = Stored;
  using reference = typename Access::reference;
  using iterator = ConvertingIterator<T, Stored, Factor>;

  ConvertingView() = default;
  MEZZO_HOST_DEVICE constexpr ConvertingView(Stored* storage, stdlib::size_t size, Factor factor = {})
      : storage_(storage), size_(size), factor_(factor) {}

  /// Element `i`, below `size()`; not checked.
  MEZZO_HOST_DEVICE constexpr reference operator[](stdlib::size_t i) const { return Access::at(storage_ + i, factor_); }
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr stdlib::size_t size() const { return size_; }
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr iterator begin() const { return iterator(storage_, factor_); }
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr iterator end() const { return iterator(storage_ + size_, factor_); }

  /// The data itself. Not named data(), so that no one takes the view for a span of `Stored`.
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr Stored* storage() const { return storage_; }

  /// `count` elements from `offset` on; both within `size()`, not checked.
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr ConvertingView subview(stdlib::size_t offset, stdlib::size_t count) const {
    return ConvertingView(storage_ + offset, count, factor_);
  }

 private:
  Stored* storage_ = nullptr;
  stdlib::size_t size_ = 0;
  [[no_unique_address]] Factor factor_ = {};
};

namespace detail {

/// Data in memory with its size: a range with data() and size(), or an array.
template <class Range>
concept StoredRange = NumberData<stdlib::remove_cvref_t<Range>> &&
                      (stdlib::rank_v<stdlib::remove_cvref_t<Range>> == 1 || requires(Range& range) { range.data(); range.size(); });

/// Thrust's `data()` is a fancy pointer; everything else's is plain.
template <class Pointer>
MEZZO_HOST_DEVICE constexpr auto plain_pointer(Pointer pointer) {
  if constexpr (stdlib::is_pointer_v<Pointer>) {
    return pointer;
  } else {
    return pointer.get();
  }
}

template <class Stored>
struct Storage {
  using element = stdlib::remove_cv_t<Stored>;
  Stored* data;
  stdlib::size_t size;
};
template <class Stored>
Storage(Stored*, stdlib::size_t) -> Storage<Stored>;

MEZZO_EXEC_CHECK_DISABLE
template <class Range>
MEZZO_HOST_DEVICE constexpr auto storage_of(Range& range) {
  if constexpr (stdlib::is_array_v<Range>) {
    return Storage{&range[0], stdlib::extent_v<Range>};
  } else {
    return Storage{plain_pointer(range.data()), static_cast<stdlib::size_t>(range.size())};
  }
}

/// What is taken for data by mistake.
template <class T>
concept NoData = !StoredRange<T> && (Number<T> || stdlib::is_pointer_v<T> || stdlib::is_array_v<T> ||
                                     requires(const T& x) { *x; } ||
                                     requires(const T& x) { x.storage(); } || requires(const T& x) { x.begin(); });

template <class T>
struct refuse_no_data {
  static_assert(sizeof(T) == 0,
    "a view needs data in memory and its size: a range with data() and size() (vector, span, array, Thrust vector), an array, or "
    "a pointer with a size. A pointer alone has none, a view converts already, and for a single value autocast does.");
};

}  // namespace detail

/// `size` elements at a pointer seen as elements of `T`; read-only over const elements.
template <Element T, class Stored>
MEZZO_HOST_DEVICE constexpr auto convert_view(Stored* storage, stdlib::size_t size) {
  return ConvertingView<T, Stored>(storage, size);
}

/// `range` seen as elements of `T`; over a const range (or a span of const) it is read-only.
///
/// @param range [n] of any element type: a vector, array, span, Thrust or rmm vector, `T[n]`. It must outlive the view.
MEZZO_EXEC_CHECK_DISABLE
template <Element T, detail::StoredRange Range>
MEZZO_HOST_DEVICE constexpr auto convert_view(Range&& range) {
  const auto storage = detail::storage_of(range);
  return convert_view<T>(storage.data, storage.size);
}

template <Element T, detail::NoData Data>
MEZZO_HOST_DEVICE constexpr auto convert_view(const Data&) {
  return detail::refuse_no_data<Data>();
}

/// The read-only view of an argument that `Op` reads under `Policy`: its elements have type
/// `argument_type_t<Policy, Op, T, Others...>`.
///
///     auto x = argument_view<Policy, op::gelu>(activations);       // [n] float16 in memory
///     my_kernel<<<blocks, threads>>>(x, result_view<Policy, op::gelu, float16>(out));
///
/// @tparam Others types of the call's other arguments, where the rule looks at them (promote).
/// @param range  [n] of any element type, also a pointer and a size; or `with_scale(range, scale)` for an 8-bit low type.
template <class Policy, class Op, class... Others, class Stored>
MEZZO_HOST_DEVICE constexpr auto argument_view(const Stored* storage, stdlib::size_t size) {
  using T = argument_type_t<Policy, Op, Stored, Others...>;
  static_assert(!EightBit<T> || stdlib::is_same_v<T, Stored>,
    "argument_view: nothing is cast to an 8-bit type without a scale. Pass with_scale(range, scale) (mezzo/policy/scaled.hpp).");
  return ConvertingView<T, const Stored>(storage, size);
}
MEZZO_EXEC_CHECK_DISABLE
template <class Policy, class Op, class... Others, class Range>
  requires detail::StoredRange<Range>
MEZZO_HOST_DEVICE constexpr auto argument_view(Range&& range) {
  const auto storage = detail::storage_of(range);
  return argument_view<Policy, Op, Others...>(storage.data, storage.size);
}
MEZZO_EXEC_CHECK_DISABLE
template <class Policy, class Op, class... Others, class Range>
  requires detail::StoredRange<Range>
MEZZO_HOST_DEVICE constexpr auto argument_view(const Scaled<Range>& range) {
  const auto storage = detail::storage_of(range.value);
  using Stored = typename decltype(storage)::element;
  using T = argument_type_t<Policy, Op, Stored, Others...>;
  return ConvertingView<T, const Stored, detail::Factor>(storage.data, storage.size, detail::Factor{range.scale});
}
template <class Policy, class Op, class... Others, detail::NoData Data>
MEZZO_HOST_DEVICE constexpr auto argument_view(const Data&) {
  return detail::refuse_no_data<Data>();
}

/// The writable view of a result: a kernel stores `result_type_t<Policy, Op, Args...>` and the view converts it to the type
/// of `range`, rounded once.
///
/// @param range [n] of any element type, not const; or a pointer and a size.
template <class Policy, class Op, class... Args, class Stored>
MEZZO_HOST_DEVICE constexpr auto result_view(Stored* storage, stdlib::size_t size) {
  using Result = result_type_t<Policy, Op, Args...>;
  static_assert(!stdlib::is_const_v<Stored>, "result_view: the range has const elements; a result is written to it.");
  static_assert(!EightBit<Stored> || stdlib::is_same_v<Stored, Result>,
    "result_view: nothing is cast to an 8-bit type without a scale. Store the result in 16 bits or float.");
  return ConvertingView<Result, Stored>(storage, size);
}
MEZZO_EXEC_CHECK_DISABLE
template <class Policy, class Op, class... Args, class Range>
  requires detail::StoredRange<Range>
MEZZO_HOST_DEVICE constexpr auto result_view(Range&& range) {
  const auto storage = detail::storage_of(range);
  return result_view<Policy, Op, Args...>(storage.data, storage.size);
}
template <class Policy, class Op, class... Args, detail::NoData Data>
MEZZO_HOST_DEVICE constexpr auto result_view(const Data&) {
  return detail::refuse_no_data<Data>();
}

}  // namespace mezzo
