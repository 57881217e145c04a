#pragma once
// Reads the command line.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "options.hpp"

namespace cifar10 {

namespace detail {

/// Words every refusal alike: "must be a whole number from 1 to 65536, got 0".
inline std::string refusal(const char* rule, const std::string& given) {
  return std::string("must be ") + rule + ", got " + (given.empty() ? "\"\"" : given);
}

/// A check of a number. To be given to transform(), not check(): CLI11 takes 010 for 8, so what it reads loses its zeros here.
template <class T>
CLI::Validator rule(const char* text, bool (*holds)(T)) {
  return CLI::Validator(
      [=](std::string& given) -> std::string {
        T value{};
        const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
        if (error != std::errc{} || end != given.data() + given.size() || !holds(value)) return refusal(text, given);
        if constexpr (std::is_integral_v<T>) given = std::to_string(value);
        return {};
      },
      "");
}

/// Refuses an empty path, which the shell makes of "$unset".
inline CLI::Validator path_to(const char* text) {
  return CLI::Validator([=](std::string& given) { return given.empty() ? refusal(text, given) : std::string(); }, "");
}

template <class Enum>
CLI::Validator one_of(const char* text, std::vector<std::pair<std::string, Enum>> names) {
  return CLI::Validator(
      [=](std::string& given) -> std::string {
        for (const auto& [name, value] : names)
          if (name == given) {
            given = std::to_string(static_cast<int>(value));   // CLI11 reads an enum from its number
            return {};
          }
        return refusal(text, given);
      },
      "");
}

}  // namespace detail

/// Reads the command line. Prints help and returns false when the user asked for it.
/// @throws OptionError
inline bool parse_options(int argc, const char* const* argv, const std::filesystem::path& embedded_data, Options& options) {
  using detail::one_of;
  using detail::path_to;
  using detail::rule;
  CLI::App app("Trains a residual network on CIFAR-10 in float32 or in mixed precision.");
  app.get_formatter()->column_width(34);
  app.footer(
      "Without --data, --train or --test the 2,000 training and 1,000 test images beside the program are used.\n"
      "MEZZO_AUTOCAST=0 in the environment turns autocast off: every precision then trains in float32.\n"
      "Exit codes: 0 success, 1 failure, 2 bad option, 3 bad data file, 4 output cannot be written, 5 no such device,\n"
      "6 --expect-accuracy or --expect-gap not met, 130 interrupted (the table so far is printed).");

  const auto precision = one_of<Precision>(
      "float32, tf32, float16, bfloat16 or float16_unscaled", {{"float32", Precision::float32},
                                                               {"tf32", Precision::tf32},
                                                               {"float16", Precision::float16},
                                                               {"bfloat16", Precision::bfloat16},
                                                               {"float16_unscaled", Precision::float16_unscaled}});
  Precision single = Precision::float16;
  std::vector<Precision> several;
  auto* one = app.add_option("--precision", single,
                             "float32, tf32 (on CUDA), float16 (default), bfloat16 or float16_unscaled: without loss scaling")
                  ->transform(precision);
  auto* many = app.add_option("--compare", several, "train each, from one seed: float32,float16,bfloat16")
                   ->delimiter(',')->transform(precision)->excludes(one);
  app.add_option("--scaling", options.scaling, "loss scaling: auto (of float16 alone) or dynamic (of every precision)")
      ->transform(one_of<Scaling>("auto or dynamic", {{"auto", Scaling::automatic}, {"dynamic", Scaling::dynamic}}));
  app.add_option("--device", options.device, "host (default) or cuda")
      ->transform(one_of<Device>("host or cuda", {{"host", Device::host}, {"cuda", Device::cuda}}));
  app.add_option("--depth", options.depth, "layers: 8 (default) and 20 with 16 to 64 channels, 18 with 64 to 512")
      ->transform(rule<int>("8, 18 or 20", [](int v) { return v == 8 || v == 18 || v == 20; }));

  const auto count = rule<std::uint32_t>("a whole number from 1 to 65536", [](std::uint32_t v) { return v >= 1 && v <= 65536; });
  app.add_option("--epochs", options.epochs, "passes over the training images")->transform(count)->capture_default_str();
  app.add_option("--batch", options.batch, "images in one forward pass")->transform(count)->capture_default_str();
  app.add_option("--accumulate", options.accumulate, "forward and backward passes in one step")->transform(count)->capture_default_str();
  app.add_option("--max-steps", options.max_steps, "stop after so many steps")->transform(count);
  app.add_option("--warmup-steps", options.warmup_steps, "first steps, left out of images/s")->transform(count);
  app.add_option("--log-every", options.log_every, "steps from one row of the curves to the next; else 1, on CUDA 50")->transform(count);
  app.add_flag("!--no-graph", options.graph, "on CUDA: queue every step anew instead of replaying a recording of it");
  const auto not_negative = rule<float>("a finite number, at least 0", [](float v) { return std::isfinite(v) && v >= 0.f; });
  app.add_option("--lr", options.learning_rate, "learning rate of the first step; a half cosine takes it to 0")
      ->transform(not_negative)->capture_default_str();
  app.add_option("--momentum", options.momentum, "of SGD, in [0, 1)")
      ->transform(rule<float>("in [0, 1)", [](float v) { return v >= 0.f && v < 1.f; }))->capture_default_str();
  app.add_option("--weight-decay", options.weight_decay, "of convolutions and the classifier's weights")
      ->transform(not_negative)->capture_default_str();
  app.add_option("--clip", options.clip, "clip the gradient's global norm to this; 0: do not")->transform(not_negative);
  app.add_option("--seed", options.seed, "of weights, image order and augmentation")
      ->transform(rule<std::uint64_t>("a whole number below 2^64", [](std::uint64_t) { return true; }))->capture_default_str();
  app.add_flag("!--no-augment", options.augment, "train on the images as they are");

  std::filesystem::path folder;
  auto* train = app.add_option("--train", options.train_files, "training files in CIFAR-10's binary layout")
                    ->check(path_to("a file"));
  auto* test = app.add_option("--test", options.test_files, "test files")->check(path_to("a file"));
  app.add_option("--data", folder, "folder of data_batch_1.bin to data_batch_5.bin and test_batch.bin")
      ->check(path_to("a folder"))->excludes(train)->excludes(test);
  app.add_flag("--verify", options.verify, "compare every data file with its published SHA-1");
  app.add_option("--output", options.output, "folder for the curves (CSV), the table and results.json")
      ->check(path_to("a folder"))->capture_default_str();

  const auto percent = rule<float>("a percentage from 0 to 100", [](float v) { return v >= 0.f && v <= 100.f; });
  app.add_option("--expect-accuracy", options.expected_accuracy, "fail when a run's test accuracy (%) is below this")->transform(percent);
  auto* gap = app.add_option("--expect-gap", options.expected_gap, "fail when a run is more points than this below or above float32")
                  ->transform(percent);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::ranges::replace(text, '\n', ' ');
    throw OptionError(text);
  }

  options.precisions = many->count() > 0 ? several : std::vector{single};
  for (std::size_t i = 0; i < options.precisions.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (options.precisions[i] == options.precisions[j])
        throw OptionError(std::string("--compare: each precision at most once, got ") + name_of(options.precisions[i]) + " twice");
  if (options.device == Device::host && std::ranges::count(options.precisions, Precision::tf32) != 0)
    throw OptionError("--precision: tf32 needs --device cuda; the host computes in float32");
  if (options.scaling == Scaling::dynamic && std::ranges::count(options.precisions, Precision::float16_unscaled) != 0)
    throw OptionError("--scaling: must be auto with float16_unscaled, which trains without loss scaling, got dynamic");
  if (gap->count() > 0 && (options.precisions.size() < 2 || std::ranges::count(options.precisions, Precision::float32) == 0))
    throw OptionError("--expect-gap: must have float32 and another precision in --compare, else there is no gap");
  if (!folder.empty()) {
    for (int i = 1; i <= 5; ++i) options.train_files.push_back(folder / ("data_batch_" + std::to_string(i) + ".bin"));
    options.test_files.push_back(folder / "test_batch.bin");
  }
  if (options.train_files.empty()) options.train_files.push_back(embedded_data / "train_sample2000.bin");
  if (options.test_files.empty()) options.test_files.push_back(embedded_data / "test_first1000.bin");
  return true;
}

}  // namespace cifar10
