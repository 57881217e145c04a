#pragma once
// What a functor over rows of spans reads and writes: the element type and the direction of each column.

#include <mezzo/numeric/convert.hpp>

namespace mezzo::multi_tensor {

/// A column that is read; its elements reach the functor widened.
template <Element T>
struct In {
  using type = T;
  static constexpr bool reads = true;
  static constexpr bool writes = false;
};

/// A column that is written only; each element is rounded once as it is stored.
template <Element T>
struct Out {
  using type = T;
  static constexpr bool reads = false;
  static constexpr bool writes = true;
};

/// A column that is read and written back.
template <Element T>
struct InOut {
  using type = T;
  static constexpr bool reads = true;
  static constexpr bool writes = true;
};

/// The columns of one kind of row, in the order of `Row::columns`. The functor computes in float, or in double where a
/// column is double.
template <class... Column>
struct Columns {
  static constexpr int count = sizeof...(Column);
  using real = stdlib::conditional_t<(stdlib::is_same_v<typename Column::type, double> || ...), double, float>;
};

/// The kinds of row that one functor takes in one launch; `Row::kind` is the index into this list.
template <class... Kind>
struct Kinds {
  static constexpr int count = sizeof...(Kind);
  template <int N>
  static constexpr bool fit_rows_of = ((Kind::count <= N) && ...);
};

namespace detail {

/// Calls `f(Kind{})` for the kind at `index`.
MEZZO_EXEC_CHECK_DISABLE
template <class F, class... Kind>
MEZZO_HOST_DEVICE constexpr void visit_kind(Kinds<Kind...>, stdlib::uint32_t index, F&& f) {
  stdlib::uint32_t at = 0;
  (void)((at++ == index ? (f(Kind{}), true) : false) || ...);
}

}  // namespace detail

}  // namespace mezzo::multi_tensor
