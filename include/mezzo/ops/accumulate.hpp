#pragma once
// What sums run in, and whether a result replaces what its span holds or is added to it.

#include <type_traits>

#include <mezzo/core/span.hpp>

namespace mezzo {

/// What a gradient does with the values already in its output span.
enum class Accumulate : bool {
  no,  ///< overwrite; what the span held is never read
  yes  ///< add to what the span holds: in the accumulation type, rounded once on store
};

/// The type that an op sums the elements of a range in: double where they are double, else float. Statistics of a batch norm,
/// its gamma and beta, and losses have it.
template <ContiguousRange X>
using sum_type_t = std::conditional_t<std::is_same_v<std::remove_const_t<detail::range_element_t<X>>, double>, double, float>;

}  // namespace mezzo
