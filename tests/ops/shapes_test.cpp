#include <mezzo/ops/shapes.hpp>

#include <doctest/doctest.h>

namespace {

using mezzo::Conv2dShape;
using mezzo::Pool2dShape;

/// Windows that fit, counted one by one.
std::int64_t windows(std::int64_t extent, std::int64_t window, std::int64_t stride) {
  std::int64_t count = 0;
  for (std::int64_t first = 0; first + window <= extent; first += stride) ++count;
  return count;
}

TEST_CASE("output_sizes_count_the_windows_that_fit") {
  for (std::int64_t extent = 1; extent < 12; ++extent)
    for (std::int64_t kernel = 1; kernel < 6; ++kernel)
      for (std::int64_t stride = 1; stride < 5; ++stride)
        for (std::int64_t padding = 0; padding < kernel; ++padding) {
          if (kernel > extent + 2 * padding) continue;
          const Conv2dShape conv{.batch = 1, .height = extent, .width = extent + 3, .in_channels = 1, .out_channels = 1, .kernel = kernel, .stride = stride, .padding = padding};
          REQUIRE(conv.out_height() == windows(extent + 2 * padding, kernel, stride));
          REQUIRE(conv.out_width() == windows(extent + 3 + 2 * padding, kernel, stride));
          if (kernel > extent) continue;
          const Pool2dShape pool{.batch = 1, .height = extent, .width = extent + 3, .channels = 1, .window = kernel, .stride = stride};
          REQUIRE(pool.out_height() == windows(extent, kernel, stride));
          REQUIRE(pool.out_width() == windows(extent + 3, kernel, stride));
        }
}

TEST_CASE("sizes_beyond_32_bits_are_counted") {
  constexpr Conv2dShape shape{.batch = 1, .height = std::int64_t{1} << 33, .width = 5, .in_channels = 1, .out_channels = 1, .kernel = 3, .stride = 2, .padding = 1};
  static_assert(shape.out_height() == std::int64_t{1} << 32);
  CHECK(shape.out_width() == 3);
}

}  // namespace
