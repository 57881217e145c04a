#pragma once
// How autocast treats the arguments of an op.

#include <mezzo/core/type_traits.hpp>

namespace mezzo {

/// What a policy does with the eligible arguments (floating point, not double) of an op.
///
/// Integers and bools pass untouched, and one double among the arguments switches the rule off for the whole call.
/// Source: the lists of torch.amp's CUDA autocast; `banned` is its list of refused ops.
enum class CastRule : stdlib::uint8_t {
  lower_precision,  ///< every argument is cast to the policy's low type; the result has that type
  float32,          ///< every argument is cast to float; the result is float
  float32_output,   ///< arguments are read as they are; the arithmetic and the result are float
  promote,          ///< all arguments take the widest type among them, at least the low type
  pass_through,     ///< no cast: computes in the widest of what it receives, returns its first argument's type
  banned            ///< a compile error under a low-precision policy
};

/// Name of a rule for messages and tables: `float32_output`.
MEZZO_HOST_DEVICE constexpr const char* name_of(CastRule rule) {
  switch (rule) {
    case CastRule::lower_precision: return "lower_precision";
    case CastRule::float32: return "float32";
    case CastRule::float32_output: return "float32_output";
    case CastRule::promote: return "promote";
    case CastRule::pass_through: return "pass_through";
    case CastRule::banned: return "banned";
  }
  return "unknown";
}

}  // namespace mezzo
