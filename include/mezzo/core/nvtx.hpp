#pragma once
// Ranges on the time line of a profiler such as Nsight Systems.

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define MEZZO_HAS_NVTX 1
#else
#define MEZZO_HAS_NVTX 0
#endif

namespace mezzo {

/// A named range of this host thread, from construction to destruction; ranges nest. Work queued meanwhile is shown under it.
///
///     const NvtxRange range("conv2d float16");
///
/// Costs a few nanoseconds where no profiler is attached, and nothing without the toolkit's NVTX headers. Under capture it
/// names the capture: replays of the graph show none.
/// @param name copied by the profiler; ends with a zero.
class [[nodiscard]] NvtxRange {
 public:
#if MEZZO_HAS_NVTX
  explicit NvtxRange(const char* name) noexcept { static_cast<void>(nvtxRangePushA(name)); }
  ~NvtxRange() { static_cast<void>(nvtxRangePop()); }
#else
  explicit NvtxRange(const char*) noexcept {}
  ~NvtxRange() {}
#endif
  NvtxRange(const NvtxRange&) = delete;  // a range ends once
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace mezzo
