#include "../../examples/cifar10_resnet/train.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include <mezzo/executor/host.hpp>

#include "temporary_folder.hpp"

using namespace cifar10;

namespace {

std::size_t refused_from = ~std::size_t{0};   // no vector of so many bytes can be had

}  // namespace

// Not inlined: g++ would see that free ends what operator new began, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = bytes < refused_from ? std::malloc(bytes) : nullptr;
  return memory != nullptr ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace cifar10 {

/// The batches of bfloat16 runs in this file: zeros, and Ctrl-C while one of them is loaded.
template <>
class Feed<mezzo::HostExecutor, mezzo::bfloat16> {
 public:
  static inline int until_interrupt_in_training = 0, until_interrupt_in_tests = 0;   // batches; 0: no interrupt

  Feed(const mezzo::HostExecutor&, const Dataset&, const Dataset&, const Options&) {}
  void start_epoch(std::uint32_t) {}
  void next(Span<mezzo::bfloat16>, Span<std::int32_t>) { count(until_interrupt_in_training); }
  void test(std::size_t, std::size_t, Span<mezzo::bfloat16>, Span<std::int32_t>) { count(until_interrupt_in_tests); }
  std::uint64_t bytes() const { return 0; }

 private:
  static void count(int& batches) {
    if (batches > 0 && --batches == 0) detail::interrupt_seen = 1;
  }
};

}  // namespace cifar10

namespace {

/// 24 images of noise.
std::filesystem::path write_images(const TemporaryFolder& folder) {
  std::string bytes;
  for (std::size_t i = 0; i < 24; ++i) {
    bytes += static_cast<char>(i % classes);
    for (std::size_t j = 0; j < image_bytes; ++j) bytes += static_cast<char>(random_bits(3, Purpose::crop, i, j) >> 56);
  }
  return folder.write("images.bin", bytes);
}

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
  const std::vector files{write_images(folder)};
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
    CHECK(result.flushed.has_value());
  }
}

TEST_CASE("without_memory_to_count_lost_gradients_the_training_is_told_all_the_same") {
  const TemporaryFolder folder;
  const std::vector files{write_images(folder)};
  const Dataset images(files);
  const mezzo::HostExecutor executor;
  mezzo::DynamicLossScaler<scale_config> scaler(executor);
  Output output(folder.path, {"float16"});
  Options options;
  options.batch = 4;
  options.max_steps = 1;
  refused_from = 200'000;   // the largest parameter has 4 * 64 * 64 * 9 bytes, the first gradient by activations 4 * 4 * 32 * 32 * 16
  const Result result = train<mezzo::Autocast<mezzo::float16>, mezzo::float16>(executor, Precision::float16, scaler, options, images,
                                                                               images, output);
  refused_from = ~std::size_t{0};
  CHECK(result.complete);
  CHECK(result.test_accuracy.has_value());
  CHECK(!result.flushed);
}

TEST_CASE("a_run_is_complete_when_its_last_epoch_was_tested_and_else_names_the_epoch_of_its_accuracy") {
  const TemporaryFolder folder;
  const std::vector files{write_images(folder)};
  const Dataset images(files);
  const mezzo::HostExecutor executor;
  using Zeros = Feed<mezzo::HostExecutor, mezzo::bfloat16>;
  struct Case {
    int training, tests;   // the batch in which Ctrl-C comes
    std::uint32_t steps, tested_epoch;
    bool complete;
  };
  for (const Case& c : {Case{0, 0, 4, 2, true}, Case{4, 0, 4, 1, false}, Case{3, 0, 3, 1, false}, Case{1, 0, 1, 0, false},
                        Case{0, 1, 2, 0, false}, Case{0, 3, 4, 1, false}, Case{0, 4, 4, 2, true}}) {
    Zeros::until_interrupt_in_training = c.training;
    Zeros::until_interrupt_in_tests = c.tests;
    mezzo::NoLossScaler::with<mezzo::Check::skip_nonfinite> scaler(executor);
    Output output(folder.path, {"bfloat16"});
    Options options;
    options.epochs = 2;
    options.batch = 12;   // two steps and two test batches an epoch
    const Result result = train<mezzo::Autocast<mezzo::bfloat16>, mezzo::bfloat16>(executor, Precision::bfloat16, scaler, options,
                                                                                   images, images, output);
    detail::interrupt_seen = 0;
    CAPTURE(c.training);
    CAPTURE(c.tests);
    CHECK(result.steps == c.steps);
    CHECK(result.complete == c.complete);
    CHECK(result.tested_epoch == c.tested_epoch);
    CHECK(result.test_accuracy.has_value() == (c.tested_epoch > 0));
    CHECK(column(folder.path / "bfloat16.csv", "step").size() == c.steps);
  }
}
