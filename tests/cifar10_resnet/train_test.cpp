#include "../../examples/cifar10_resnet/train.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <mezzo/executor/host.hpp>

#include "temporary_folder.hpp"

using namespace cifar10;

namespace {

/// The numbers of one column of a run's curves.
std::vector<double> column(const std::filesystem::path& path, const std::string& name) {
  std::ifstream file(path);
  std::vector<double> values;
  std::ptrdiff_t wanted = -1;
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    std::ptrdiff_t i = 0;
    for (std::string cell; std::getline(cells, cell, ','); ++i)
      if (wanted < 0 && cell == name) {
        wanted = i;
        break;
      } else if (wanted == i) {
        values.push_back(std::stod(cell));
      }
  }
  return values;
}

}  // namespace

TEST_CASE("a_skipped_step_is_logged_with_the_rate_that_it_would_have_run_with_and_the_next_repeats_it") {
  const TemporaryFolder folder;
  std::string bytes;
  for (std::size_t i = 0; i < 24; ++i) {
    bytes += static_cast<char>(i % classes);
    for (std::size_t j = 0; j < image_bytes; ++j) bytes += static_cast<char>(random_bits(3, Purpose::crop, i, j) >> 56);
  }
  const std::vector<std::filesystem::path> files{folder.write("images.bin", bytes)};
  const Dataset images(files);
  Options options;
  options.batch = 4;
  options.epochs = 2;
  constexpr double total = 2 * 24 / 4;

  const mezzo::HostExecutor executor;
  for (const std::uint32_t log_every : {1u, 5u}) {
    options.log_every = log_every;
    // The first steps overflow: a logit's gradient is (p - 1) / 4 times the scale, and 2^20 * 0.9 / 4 exceeds float16's 65504.
    mezzo::DynamicLossScaler<mezzo::LossScaleConfig{.init_scale = 0x1p24f, .backoff_factor = 0x1p-4f}> scaler(executor);
    Output output(folder.path, {"float16"});
    const Result result = train<mezzo::Autocast<mezzo::float16>, mezzo::float16>(executor, Precision::float16, scaler, options,
                                                                                 images, images, output);
    const auto steps = column(folder.path / "float16.csv", "step"), rates = column(folder.path / "float16.csv", "learning_rate"),
               skipped = column(folder.path / "float16.csv", "skipped");
    REQUIRE(result.skipped >= 1);
    REQUIRE(result.skipped < 6);
    REQUIRE(rates.size() == (log_every == 1 ? 12 : 4));
    REQUIRE(skipped.back() == static_cast<double>(result.skipped));
    for (std::size_t i = 0; i < rates.size(); ++i) {
      CHECK(skipped[i] == std::min(steps[i], skipped.back()));   // all from the first step on: tries at update 0
      const double update = std::max(0., steps[i] - 1 - skipped.back());
      const double expected = .1 * .5 * (1 + std::cos(3.14159265358979323846 * update / total));
      // The rate is rounded twice to float, the factor and the product with it, and written with 6 digits.
      CHECK(std::abs(rates[i] - expected) <= expected * (3 * 0x1p-24 + 5e-6));
    }
    if (log_every == 1) CHECK(rates.front() == .1);
  }
}
