#pragma once
// A parameter as a row of the table: which spans it has, in which order, of which kind.

#include <mezzo/multi_tensor/columns.hpp>
#include <mezzo/optim/master_storage.hpp>

namespace mezzo::detail {

/// Columns of an optimizer's row: gradient, weight (the master, or the model where it is its own), moments, low copy.
inline constexpr int gradient_column = 0;
inline constexpr int weight_column = 1;
inline constexpr int first_moment_column = 2;

template <class Moment, std::size_t>
using moment_column = multi_tensor::InOut<Moment>;

template <class Gradient, class Weight, class Moment, class Indices, class... Copy>
struct RowColumns;
template <class Gradient, class Weight, class Moment, std::size_t... Index, class... Copy>
struct RowColumns<Gradient, Weight, Moment, stdlib::index_sequence<Index...>, Copy...> {
  using type = multi_tensor::Columns<multi_tensor::In<Gradient>, multi_tensor::InOut<Weight>, moment_column<Moment, Index>..., Copy...>;
};

/// The kinds of row: bit 0 of the index is set for float32 gradients, bit 1 for parameters of float32.
template <class Low, class Storage, class Moment, int Moments>
struct RowKinds {
  using Indices = stdlib::make_index_sequence<Moments>;
  template <class Gradient>
  using low_row = typename stdlib::conditional_t<
      Storage::keeps_master && !stdlib::is_same_v<Low, float>,
      RowColumns<Gradient, float, Moment, Indices, multi_tensor::Out<Low>>, RowColumns<Gradient, Low, Moment, Indices>>::type;
  template <class Gradient>
  using float_row = typename RowColumns<Gradient, float, Moment, Indices>::type;

  using type = multi_tensor::Kinds<low_row<Low>, low_row<float>, float_row<Low>, float_row<float>>;
};

inline constexpr std::uint32_t float_gradient = 1;
inline constexpr std::uint32_t float_parameter = 2;

}  // namespace mezzo::detail
