#pragma once
// Finds two spans that share memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mezzo::detail {

/// One span of one parameter, as bytes.
struct ByteRange {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::size_t parameter;
  const char* span;
};

inline void add_range(std::vector<ByteRange>& ranges, std::size_t parameter, const char* span, const void* data, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (bytes != 0) ranges.push_back({begin, begin + bytes, parameter, span});
}

/// Two ranges that share a byte, the one named later in the parameter list first; nothing if none do. Sorts `ranges`.
inline std::optional<std::pair<ByteRange, ByteRange>> find_overlap(std::vector<ByteRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) {
      const bool ordered = ranges[i].parameter >= ranges[i - 1].parameter;
      return ordered ? std::pair(ranges[i], ranges[i - 1]) : std::pair(ranges[i - 1], ranges[i]);
    }
  }
  return std::nullopt;
}

}  // namespace mezzo::detail
