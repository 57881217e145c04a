#pragma once
// Images widened into scratch with a border of zeros, so that a window never needs a test for the edge.

#include <algorithm>
#include <cstdint>

#include <mezzo/ops/host/detail/rows.hpp>

namespace mezzo::detail::host {

/// Where the source image [height, width, channels] lies in its padded copy.
struct Padded {
  std::int64_t height = 0;         ///< of the source
  std::int64_t width = 0;          ///< of the source
  std::int64_t channels = 0;
  std::int64_t top = 0;            ///< zeros above
  std::int64_t left = 0;           ///< zeros on the left
  std::int64_t padded_height = 0;
  std::int64_t padded_width = 0;

  [[nodiscard]] std::int64_t row() const { return padded_width * channels; }
  [[nodiscard]] std::int64_t elements() const { return padded_height * row(); }
  [[nodiscard]] std::int64_t source_elements() const { return height * width * channels; }

  /// Copies the part of one image that the padded copy has room for. The border is left as it is.
  template <class From, class T>
  void load(const From* image, T* to) const {
    const std::int64_t rows = (std::min)(height, padded_height - top);
    const std::int64_t run = (std::min)(width, padded_width - left) * channels;
    for (std::int64_t y = 0; y < rows; ++y) {
      widen_row(image + y * width * channels, to + (top + y) * row() + left * channels, run);
    }
  }
};

/// Images taken together: enough pixels to make use of weights once loaded, few enough to stay in the cache.
inline std::int64_t images_at_once(std::int64_t batch, std::int64_t pixels, std::int64_t image_bytes,
                                   std::int64_t cache_bytes = 256 * 1024) {
  constexpr std::int64_t enough_pixels = 192;
  const std::int64_t wanted = (enough_pixels + pixels - 1) / pixels;
  return std::clamp<std::int64_t>((std::min)(wanted, cache_bytes / (std::max<std::int64_t>)(image_bytes, 1)), 1, (std::max<std::int64_t>)(batch, 1));
}

}  // namespace mezzo::detail::host
