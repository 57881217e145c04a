#pragma once
// From bytes in a file to a normalised batch: random crop, random mirror image, NHWC, the element type of the first layer.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <mezzo/core/span.hpp>
#include <mezzo/numeric/convert.hpp>

#include "dataset.hpp"
#include "random.hpp"

namespace cifar10 {

/// Where the 32 x 32 window lies relative to the image, and whether it is mirrored. The image is surrounded by zeros.
struct Crop {
  int top = 0, left = 0;   // in [-4, 4]
  bool mirrored = false;
};

/// The crop of one image in one epoch, as He et al. augment CIFAR-10: 4 pixels of padding, mirrored every second time.
MEZZO_HOST_DEVICE constexpr Crop random_crop(std::uint64_t seed, std::uint64_t epoch, std::uint32_t image) {
  const std::uint64_t bits = random_bits(seed, Purpose::crop, epoch, image);
  const std::uint32_t place = below(bits, 81);
  return {static_cast<int>(place / 9) - 4, static_cast<int>(place % 9) - 4, (bits & 1) != 0};
}

/// What a byte of each channel becomes: (byte / 255 - mean) / deviation, computed in float and rounded once to T.
template <class T>
std::array<std::array<T, 256>, channels> normalised_values() {
  constexpr std::array mean{.4914f, .4822f, .4465f}, deviation{.2470f, .2435f, .2616f};   // of the training images
  std::array<std::array<T, 256>, channels> values;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t byte = 0; byte < 256; ++byte)
      values[c][byte] = mezzo::convert<T>((static_cast<float>(byte) / 255.f - mean[c]) / deviation[c]);
  return values;
}

/// Fills batches on the host.
template <class T>
class BatchLoader {
 public:
  /// `data` must outlive the loader.
  explicit BatchLoader(const Dataset& data) : data_(&data), values_(normalised_values<T>()) {}

  /// Writes the images `chosen` with each its random crop.
  ///
  /// @param chosen  [N] indices into the data set
  /// @param images  [N, 32, 32, 3]
  /// @param labels  [N]
  void load_augmented(std::span<const std::uint32_t> chosen, std::uint64_t seed, std::uint64_t epoch,
                      mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) const {
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      labels[n] = data_->label(chosen[n]);
      write(data_->pixels(chosen[n]), random_crop(seed, epoch, chosen[n]), images.data() + n * image_bytes);
    }
  }

  /// Writes the images `chosen` as they are. Shapes as above.
  void load(std::span<const std::uint32_t> chosen, mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) const {
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      labels[n] = data_->label(chosen[n]);
      write(data_->pixels(chosen[n]), Crop{}, images.data() + n * image_bytes);
    }
  }

  /// Writes the `count` images from `first` on as they are. Shapes as above.
  void load(std::size_t first, std::size_t count, mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) const {
    for (std::size_t n = 0; n < count; ++n) {
      labels[n] = data_->label(first + n);
      write(data_->pixels(first + n), Crop{}, images.data() + n * image_bytes);
    }
  }

  /// One image. @param planes R, G and B plane; @param out [32, 32, 3]
  void write(std::span<const std::uint8_t, image_bytes> planes, Crop crop, T* out) const {
    constexpr int size = static_cast<int>(side);
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x, out += channels) {
        const int from_y = y + crop.top;
        const int from_x = (crop.mirrored ? size - 1 - x : x) + crop.left;
        const bool inside = from_y >= 0 && from_y < size && from_x >= 0 && from_x < size;
        const auto pixel = static_cast<std::size_t>(from_y * size + from_x);
        for (std::size_t c = 0; c < channels; ++c)
          out[c] = inside ? values_[c][planes[c * side * side + pixel]] : T{};
      }
  }

 private:
  const Dataset* data_;
  std::array<std::array<T, 256>, channels> values_;
};

}  // namespace cifar10
