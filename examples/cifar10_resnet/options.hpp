#pragma once
// What a run may be asked for, and the program's exit codes. command_line.hpp reads it.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace cifar10 {

/// The program's exit codes; `--help` lists them.
enum class Exit : int {
  success = 0,
  failure = 1,           ///< something unforeseen: out of memory, say
  bad_option = 2,
  bad_data = 3,          ///< a data file is missing or damaged, or a test file holds training images
  bad_output = 4,        ///< a result cannot be written: a folder that cannot be made or that another run writes to, a full disk
  no_device = 5,         ///< --device cuda without a device or in a build for the host
  below_expectation = 6, ///< --expect-accuracy or --expect-gap was not met
  interrupted = 130      ///< Ctrl-C, SIGTERM or SIGHUP; the table so far was printed
};

enum class Precision {
  float32,
  float16,
  bfloat16,
  float16_unscaled,   ///< what float16 loses without a scaler
  tf32                ///< float32 with products of 11-bit significands, on CUDA
};
enum class Scaling { automatic, dynamic };   // dynamic: of every precision; automatic: of float16 alone
enum class Device { host, cuda };

inline const char* name_of(Precision precision) {
  constexpr const char* names[] = {"float32", "float16", "bfloat16", "float16_unscaled", "tf32"};
  return names[static_cast<int>(precision)];
}
inline const char* name_of(Scaling scaling) { return scaling == Scaling::automatic ? "auto" : "dynamic"; }
inline const char* name_of(Device device) { return device == Device::host ? "host" : "cuda"; }

struct Options {
  std::vector<Precision> precisions{Precision::float16};
  Scaling scaling = Scaling::automatic;
  Device device = Device::host;
  int depth = 8;                         // 8, 18 or 20
  std::uint32_t epochs = 20;
  std::uint32_t batch = 50;              // images in one forward pass
  std::uint32_t accumulate = 1;          // forward passes in one step
  std::uint32_t max_steps = 0;           // 0: no limit
  std::uint32_t warmup_steps = 0;        // at the start, left out of images/s
  std::uint32_t log_every = 0;           // steps from one row of the curves to the next; 0: 1 on the host, 50 on CUDA
  bool graph = true;                     // CUDA: replay a recording of the step
  float learning_rate = .1f;             // at the first step; then a half cosine down to 0
  float momentum = .9f;                  // in [0, 1)
  float weight_decay = 5e-4f;            // not applied to batch norm and biases
  float clip = 0.f;                      // largest gradient norm; 0: no clipping
  std::uint64_t seed = 1;
  bool augment = true;
  std::vector<std::filesystem::path> train_files, test_files;
  bool verify = false;                   // SHA-1 of every file
  std::filesystem::path output = "cifar10_results";
  float expected_accuracy = 0.f;         // percent
  float expected_gap = 100.f;            // percentage points from float32, below it or above
};

/// A wrong command line. `what()` is one line.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How long a run is.
struct Length {
  std::uint32_t step_images;       // images in one step
  std::uint32_t steps_per_epoch;   // what is left over waits for the next epoch
  std::uint32_t total_steps;
};

/// The length of a run on `training_images`, which are fewer than 2^32.
/// @throws OptionError when a step needs more images, 32 bits cannot count the steps, or none is left after the warm-up
inline Length length_of(const Options& options, std::size_t training_images) {
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  const std::uint64_t step_images = std::uint64_t{options.batch} * options.accumulate;
  if (step_images > training_images)
    throw OptionError("--batch: batch times accumulate must be at most the " + text(training_images) + " training images, got " +
                      text(options.batch) + " * " + text(options.accumulate));
  const std::uint64_t steps_per_epoch = training_images / step_images;
  std::uint64_t total_steps = steps_per_epoch * options.epochs;
  if (options.max_steps != 0) total_steps = std::min<std::uint64_t>(total_steps, options.max_steps);
  if (total_steps > std::numeric_limits<std::uint32_t>::max())
    throw OptionError("--epochs: must make fewer than 2^32 steps, got " + text(steps_per_epoch) + " * " + text(options.epochs));
  if (options.warmup_steps >= total_steps)
    throw OptionError("--warmup-steps: must be fewer than the run's " + text(total_steps) + " steps, got " + text(options.warmup_steps));
  return {static_cast<std::uint32_t>(step_images), static_cast<std::uint32_t>(steps_per_epoch), static_cast<std::uint32_t>(total_steps)};
}

}  // namespace cifar10
