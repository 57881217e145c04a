#pragma once
// The three passes of a convolution.

#include <cstdint>

namespace mezzo::detail {

enum class Conv2dPass : std::uint8_t { forward, data_gradient, weight_gradient };

}  // namespace mezzo::detail
