#pragma once
// What a loss multiplies its gradient by: a number, a number in the executor's memory, or a scaler's view.

#include <mezzo/core/type_traits.hpp>
#include <mezzo/core/host_device.hpp>

namespace mezzo::detail {

/// Read where the work runs, so that the host need not know a scale that the device keeps.
template <class Multiplier>
MEZZO_HOST_DEVICE constexpr float multiplier_of(const Multiplier& multiplier) {
  if constexpr (requires { multiplier.scale(); }) {
    return static_cast<float>(multiplier.scale());
  } else if constexpr (stdlib::is_pointer_v<Multiplier>) {
    return static_cast<float>(*multiplier);
  } else {
    return static_cast<float>(multiplier);
  }
}

template <class Multiplier>
concept LossMultiplier = requires(const Multiplier& multiplier) {
  { multiplier.scale() } -> stdlib::convertible_to<float>;
} || stdlib::is_same_v<Multiplier, float> || stdlib::is_same_v<Multiplier, double> || stdlib::is_same_v<Multiplier, const float*> ||
                         stdlib::is_same_v<Multiplier, float*>;

}  // namespace mezzo::detail
