// Trains a residual network on CIFAR-10, in float32 or in mixed precision, and compares them.
//
// train.hpp has the training itself; here are the program around it and its exit codes.

#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>

#include <mezzo/policy/environment.hpp>

#include "command_line.hpp"
#include "cuda/device.hpp"
#ifdef CIFAR10_HAS_CRYPTO
#include "digest.hpp"
#endif
#include "machine.hpp"
#include "report.hpp"
#include "run.hpp"

namespace cifar10 {

/// Compares every file with its published SHA-1. @throws DataError; OptionError in a build that cannot
void verify(const Dataset& data) {
#ifdef CIFAR10_HAS_CRYPTO
  for (const MappedFile& file : data.files()) verify_digest(file);
#else
  static_cast<void>(data);
  throw OptionError("--verify: this build has no libcrypto, which computes SHA-1");
#endif
}

/// The runs that ended or were interrupted, and what stopped the next: a full disk, say.
struct Outcome {
  std::vector<Result> results;
  std::exception_ptr failure;
};

/// Trains in each precision, on `cuda` where there is one, and writes what all found, with `json`, after each: whatever ends the
/// program later leaves it. Throws nothing: what the runs before a failure found is still told.
Outcome train_all(CudaDevice* cuda, bool autocast, const Options& options, const Dataset& training, const Dataset& test,
                  Output& output, const nlohmann::ordered_json& json) {
  Outcome outcome;
  try {
    for (const Precision precision : options.precisions) {
      if (interrupted()) break;
      if (cuda != nullptr)
        outcome.results.push_back(cuda->run(precision, autocast, options, training, test, output));
      else
        outcome.results.push_back(run(mezzo::HostExecutor{}, precision, autocast, options, training, test, output));
      write_results(output, json, outcome.results);
    }
  } catch (...) {
    outcome.failure = std::current_exception();
  }
  return outcome;
}

/// Prints which runs miss --expect-accuracy or --expect-gap; returns whether none does. A network of NaNs meets no expectation.
bool meets_expectations(const Options& options, const std::vector<Result>& results) {
  const bool expected = options.expected_accuracy > 0.f || options.expected_gap < 100.f;
  bool met = true;
  for (const Result& result : results) {
    if (!std::isfinite(result.loss)) {
      std::fprintf(stderr, "%s: %s: the last loss is %g; its accuracy says nothing\n", expected ? "error" : "warning",
                   result.name.c_str(), static_cast<double>(result.loss));
      met = met && !expected;
      continue;
    }
    if (!result.test_accuracy) continue;
    if (*result.test_accuracy < options.expected_accuracy) {
      std::fprintf(stderr, "error: --expect-accuracy: %s must reach %g %%, got %g %%\n", result.name.c_str(),
                   static_cast<double>(options.expected_accuracy), static_cast<double>(*result.test_accuracy));
      met = false;
    }
    for (const Result& base : results)
      if (base.name == "float32" && base.test_accuracy && std::abs(*result.test_accuracy - *base.test_accuracy) > options.expected_gap) {
        std::fprintf(stderr, "error: --expect-gap: %s must be within %g points of float32's %g %%, got %g %%\n", result.name.c_str(),
                     static_cast<double>(options.expected_gap), static_cast<double>(*base.test_accuracy),
                     static_cast<double>(*result.test_accuracy));
        met = false;
      }
  }
  return met;
}

/// The program after the command line is read.
Exit compare(const Options& options) {
  std::unique_ptr<CudaDevice> cuda;
  nlohmann::ordered_json gpu;
  if (options.device == Device::cuda) {
    cuda = std::make_unique<CudaDevice>();
    for (const auto& [key, value] : cuda->describe()) gpu[key] = value;   // now: after a failure the device may not answer
  }
  const bool autocast = mezzo::enabled_from_environment("MEZZO_AUTOCAST");
  const Dataset training(options.train_files), test(options.test_files);
  check_disjoint(training, test);
  if (options.verify) verify(training), verify(test);
  static_cast<void>(length_of(options, training.size()));   // refused now, before there is output
  std::vector<std::string> names;
  for (const Precision precision : options.precisions) names.push_back(name_of(precision));
  Output output(options.output, names);

  nlohmann::ordered_json json{{"options", to_json(options)}, {"machine", describe_machine()}};
  json["options"]["autocast"] = autocast;
  json["options"]["training_images"] = training.size();
  json["options"]["test_images"] = test.size();
  if (cuda) json["gpu"] = gpu;

  watch_for_interrupts();
  std::printf("ResNet-%d, %zu training and %zu test images, batch %u%s, %u epochs, seed %llu%s\n", options.depth, training.size(),
              test.size(), options.batch, options.accumulate > 1 ? format(" x %u", options.accumulate).c_str() : "", options.epochs,
              static_cast<unsigned long long>(options.seed), autocast ? "" : ", autocast off: all in float32");
  const auto [results, failure] = train_all(cuda.get(), autocast, options, training, test, output, json);
  if (!results.empty()) std::printf("\n%s", table(results).c_str());
  if (failure) std::rethrow_exception(failure);
  if (!results.empty()) std::printf("\ncurves, table and figures: %s\n", output.folder().c_str());
  std::fflush(stdout);   // what follows is on standard error, and about the table
  if (interrupted()) return Exit::interrupted;
  return meets_expectations(options, results) ? Exit::success : Exit::below_expectation;
}

Exit main(int argc, char** argv) {
  const auto refuse = [](Exit code, const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", error.what());
    return code;
  };
  Options options;
  const auto no_memory = [&](const std::exception& error) {
    return refuse(Exit::failure, OptionError(format("--batch: %u images with --depth %d are too many for the memory there is (%s)",
                                                    options.batch, options.depth, error.what())));
  };
  try {
    return parse_options(argc, argv, CIFAR10_DATA, options) ? compare(options) : Exit::success;
  } catch (const OptionError& error) {
    return refuse(Exit::bad_option, error);
  } catch (const DataError& error) {
    return refuse(Exit::bad_data, error);
  } catch (const OutputError& error) {
    return refuse(Exit::bad_output, error);
  } catch (const NoDevice& error) {
    return refuse(Exit::no_device, error);
  } catch (const mezzo::OutOfMemory& error) {
    return no_memory(error);
  } catch (const std::bad_alloc& error) {
    return no_memory(error);
  } catch (const mezzo::InvalidArgument& error) {   // the environment variable, say
    return refuse(Exit::bad_option, error);
  } catch (const std::exception& error) {
    return refuse(Exit::failure, error);
  }
}

/// Opens /dev/null as standard input, output and error where they are closed: the next file opened, a CSV, would take their place.
void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) == -1) static_cast<void>(::open("/dev/null", O_RDWR));   // becomes the lowest that is free
}

}  // namespace cifar10

int main(int argc, char** argv) {
  cifar10::open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);   // who reads along may leave: the training goes on, and is told below
  cifar10::Exit code = cifar10::main(argc, argv);
  const bool flushed = std::fflush(stdout) == 0;
  if ((!flushed || std::ferror(stdout) != 0) && code == cifar10::Exit::success) {
    std::fputs("error: standard output: cannot be written\n", stderr);
    code = cifar10::Exit::bad_output;
  }
  return static_cast<int>(code);
}
