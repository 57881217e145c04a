#pragma once
// Whether a result replaces what its span holds or is added to it.

namespace mezzo {

/// What a gradient does with the values already in its output span.
enum class Accumulate : bool {
  no,  ///< overwrite; what the span held is never read
  yes  ///< add to what the span holds: in the accumulation type, rounded once on store
};

}  // namespace mezzo
