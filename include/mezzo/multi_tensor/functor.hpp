#pragma once
// What a runner asks of a functor, and how one element passes through it.

#include <mezzo/multi_tensor/columns.hpp>

namespace mezzo::multi_tensor {

/// An element-wise functor:
///
///     using kinds = Kinds<Columns<In<float16>, InOut<float>>, ...>;
///     bool enabled() const;                        // asked once a thread; false: nothing is touched
///     auto scalars(std::uint32_t kind, std::uint32_t group) const;   // asked once a chunk
///     static bool rests(const Scalars&);           // optional; true: the chunk is passed over, and adds 0 to a sum
///     void operator()(Kind, const Scalars&, real& column0, real& column1, ...) const;   // once an element
///     void finish() const;                         // once a launch, by one thread, whether enabled or not
///
/// A reducing functor takes a `Partial&` after the scalars and has besides:
///
///     static constexpr bool sums;                  // whether Partial::sum is used
///     void report_nonfinite() const;               // at least once if any Partial::nonfinite was set
///     void finish(double sum) const;               // once a launch, after everything else; sum is 0 unless `sums`
struct Partial {
  double sum = 0;
  bool nonfinite = false;
};

namespace detail {

template <class Functor, class Scalars>
MEZZO_HOST_DEVICE inline bool rests(const Functor&, const Scalars& scalars) {
  if constexpr (requires { Functor::rests(scalars); }) {
    return Functor::rests(scalars);
  } else {
    return false;
  }
}

template <class Column, class Real>
MEZZO_HOST_DEVICE inline void load(const void* column, stdlib::uint64_t index, Real& value) {
  if constexpr (Column::reads) {
    value = convert<Real>(static_cast<const typename Column::type*>(column)[index]);
  }
}

template <class Column, class Real>
MEZZO_HOST_DEVICE inline void store(void* column, stdlib::uint64_t index, Real value) {
  if constexpr (Column::writes) {
    static_cast<typename Column::type*>(column)[index] = convert<typename Column::type>(value);
  }
}

/// Loads element `index` of every column, calls `f(real&...)`, stores what the kind writes.
MEZZO_EXEC_CHECK_DISABLE
template <class F, class... Column, stdlib::size_t... Index>
MEZZO_HOST_DEVICE inline void element(Columns<Column...>, stdlib::index_sequence<Index...>, void* const* columns,
                                      stdlib::uint64_t index, F&& f) {
  using Real = typename Columns<Column...>::real;
  Real values[sizeof...(Column)] = {};
  (load<Column>(columns[Index], index, values[Index]), ...);
  f(values[Index]...);
  (store<Column>(columns[Index], index, values[Index]), ...);
}

}  // namespace detail

}  // namespace mezzo::multi_tensor
