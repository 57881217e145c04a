#pragma once
// Where the float32 weights of a 16-bit model live: as a copy of their own, or nowhere.

#include <concepts>

namespace mezzo {

/// Every parameter of the low type has a float32 master, which the step updates and from which it writes the model copy.
struct Float32Master {
  static constexpr bool keeps_master = true;
};

/// No master: the step reads and writes the model's own values. Updates below half an ulp of a 16-bit weight are lost.
struct NoMaster {
  static constexpr bool keeps_master = false;
};

/// A way to keep master weights.
template <class Storage>
concept MasterStorage = requires { { Storage::keeps_master } -> std::convertible_to<bool>; };

}  // namespace mezzo
