#pragma once
// Where a classification loss writes what it measured.

#include <cstdint>

#include <mezzo/core/span.hpp>

namespace mezzo {

/// Outputs of one element each, in the executor's memory; an empty span is left out.
template <class T>
struct LossResult {
  Span<T> loss = {};                   ///< the mean loss
  Span<std::int32_t> correct = {};     ///< rows whose largest logit is the label's
};

}  // namespace mezzo
