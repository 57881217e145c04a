#pragma once
// The standard type traits, also where there is no standard library.
//
// NVRTC has none, so there they come from libcu++; elsewhere `<type_traits>` compiles ten times faster.

#include <mezzo/core/host_device.hpp>

#ifdef __CUDACC_RTC__
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace mezzo::stdlib {
using namespace ::cuda::std;
}
#else
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
namespace mezzo::stdlib {
using namespace ::std;
}
#endif
