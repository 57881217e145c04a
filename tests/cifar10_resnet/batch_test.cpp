#include "../../examples/cifar10_resnet/batch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "temporary_folder.hpp"

using namespace cifar10;

namespace {

constexpr int size = static_cast<int>(side);

/// Two images whose byte at (c, y, x) is different from its neighbours'.
struct TwoImages {
  TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  TwoImages() {
    std::string bytes;
    for (int image = 0; image < 2; ++image) {
      bytes += static_cast<char>(3 + image);
      for (int c = 0; c < 3; ++c)
        for (int y = 0; y < size; ++y)
          for (int x = 0; x < size; ++x) bytes += static_cast<char>(byte(image, c, y, x));
    }
    paths = {folder.write("two.bin", bytes)};
  }
  static std::uint8_t byte(int image, int c, int y, int x) {
    return static_cast<std::uint8_t>(image * 101 + c * 85 + y * 37 + x * 5);
  }
};

float normalised(int c, std::uint8_t byte) {
  const float mean[] = {.4914f, .4822f, .4465f}, deviation[] = {.2470f, .2435f, .2616f};
  return (static_cast<float>(byte) / 255.f - mean[c]) / deviation[c];
}

/// The window's value, written down from the definition: pad with zeros, cut, mirror the cut.
float expected(int image, Crop crop, int y, int x, int c) {
  const int column = crop.mirrored ? 31 - x : x;
  const int padded_y = y + 4 + crop.top, padded_x = column + 4 + crop.left;
  if (padded_y < 4 || padded_y >= 36 || padded_x < 4 || padded_x >= 36) return 0.f;
  return normalised(c, TwoImages::byte(image, c, padded_y - 4, padded_x - 4));
}

}  // namespace

TEST_CASE("a_plain_batch_is_the_normalised_image_with_channels_last") {
  const TwoImages two;
  const Dataset data(two.paths);
  const BatchLoader<float> loader(data);
  std::vector<float> images(2 * image_bytes);
  std::vector<std::int32_t> labels(2);
  loader.load(0, 2, images, labels);
  CHECK(labels == std::vector<std::int32_t>{3, 4});
  for (int n = 0; n < 2; ++n)
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x)
        for (int c = 0; c < 3; ++c)
          REQUIRE(images[static_cast<std::size_t>(((n * size + y) * size + x) * 3 + c)] == expected(n, {}, y, x, c));
  loader.load(1, 1, images, labels);
  CHECK(labels[0] == 4);
  CHECK(images[0] == expected(1, {}, 0, 0, 0));
}

TEST_CASE("every_crop_is_the_window_of_the_padded_image") {
  const TwoImages two;
  const Dataset data(two.paths);
  const BatchLoader<float> loader(data);
  std::vector<float> out(image_bytes);
  for (int top = -4; top <= 4; ++top)
    for (int left = -4; left <= 4; ++left)
      for (const bool mirrored : {false, true}) {
        const Crop crop{top, left, mirrored};
        loader.write(data.pixels(1), crop, out.data());
        for (int y = 0; y < size; ++y)
          for (int x = 0; x < size; ++x)
            for (int c = 0; c < 3; ++c)
              REQUIRE(out[static_cast<std::size_t>((y * size + x) * 3 + c)] == expected(1, crop, y, x, c));
      }
}

TEST_CASE("crops_are_evenly_spread_over_all_places_and_both_directions") {
  // 162 outcomes, each due n / 162 times; five standard deviations sqrt(n p (1 - p)) around that.
  constexpr std::uint32_t n = 162'000;
  std::map<std::tuple<int, int, bool>, int> counts;
  for (std::uint32_t image = 0; image < n; ++image) {
    const Crop crop = random_crop(3, 1, image);
    ++counts[{crop.top, crop.left, crop.mirrored}];
  }
  CHECK(counts.size() == 162);
  const double p = 1. / 162, deviation = std::sqrt(n * p * (1 - p));
  for (const auto& [outcome, count] : counts) {
    CHECK(std::abs(std::get<0>(outcome)) <= 4);
    CHECK(std::abs(std::get<1>(outcome)) <= 4);
    CHECK(std::abs(count - n * p) < 5 * deviation);
  }
}

TEST_CASE("crops_change_from_epoch_to_epoch_and_with_the_seed") {
  const auto signature = [](std::uint64_t seed, std::uint64_t epoch) {
    std::vector<int> all;
    for (std::uint32_t image = 0; image < 100; ++image) {
      const Crop crop = random_crop(seed, epoch, image);
      all.insert(all.end(), {crop.top, crop.left, crop.mirrored});
    }
    return all;
  };
  CHECK(signature(1, 1) == signature(1, 1));
  CHECK(signature(1, 1) != signature(1, 2));
  CHECK(signature(1, 1) != signature(2, 1));
}

TEST_CASE_TEMPLATE("a_batch_in_16_bits_is_the_float32_batch_rounded_once", T, mezzo::float16, mezzo::bfloat16) {
  const TwoImages two;
  const Dataset data(two.paths);
  std::vector<float> wide(2 * image_bytes);
  std::vector<T> narrow(2 * image_bytes);
  std::vector<std::int32_t> labels(2), labels16(2);
  const std::vector<std::uint32_t> chosen{1, 0};
  BatchLoader<float>(data).load_augmented(chosen, 7, 3, wide, labels);
  BatchLoader<T>(data).load_augmented(chosen, 7, 3, narrow, labels16);
  CHECK(labels == std::vector<std::int32_t>{4, 3});
  CHECK(labels == labels16);
  for (std::size_t i = 0; i < wide.size(); ++i)
    REQUIRE(mezzo::convert<float>(narrow[i]) == mezzo::convert<float>(mezzo::convert<T>(wide[i])));
}

TEST_CASE("an_augmented_batch_uses_the_crop_of_each_images_own_index") {
  const TwoImages two;
  const Dataset data(two.paths);
  std::vector<float> images(2 * image_bytes);
  std::vector<std::int32_t> labels(2);
  const std::vector<std::uint32_t> chosen{1, 0};
  BatchLoader<float>(data).load_augmented(chosen, 7, 3, images, labels);
  for (int n = 0; n < 2; ++n)
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x)
        REQUIRE(images[static_cast<std::size_t>(((n * size + y) * size + x) * 3)] ==
                expected(1 - n, random_crop(7, 3, chosen[static_cast<std::size_t>(n)]), y, x, 0));
}
