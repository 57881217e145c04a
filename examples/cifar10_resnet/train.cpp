// Trains a residual network on CIFAR-10, in float32 or in mixed precision, and compares them.
//
// Read `train` from top to bottom to follow a batch from the file to the updated weights.

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <mezzo/mezzo.hpp>
#include <mezzo/ops/ops.hpp>
#include <mezzo/policy/dispatch.hpp>
#include <mezzo/policy/environment.hpp>

#include "batch.hpp"
#include "dataset.hpp"
#ifdef CIFAR10_HAS_CRYPTO
#include "digest.hpp"
#endif
#include "interrupt.hpp"
#include "machine.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "report.hpp"
#include "resnet.hpp"

namespace cifar10 {

using mezzo::Autocast;

/// Grows after 100 clean steps instead of the default 2,000: a run of the demo has a few hundred.
constexpr mezzo::LossScaleConfig scale_config{.growth_interval = 100};

/// Trains one network from `options.seed` and measures it.
///
/// @tparam Policy   which operations run in which type
/// @tparam Gradient type of the weights' gradients
template <class Policy, class Gradient, mezzo::Executor Where>
Result train(const Where& executor, const std::string& name, mezzo::LossScalerBase& scaler, const Options& options,
             const Dataset& training, const Dataset& test, Output& output) {
  // The network, its weights, and the float32 masters that the optimizer keeps of them.
  const mezzo::AnyExecutor memory(executor);
  Storage storage(memory);
  const Architecture shape = architecture(options.depth);
  ResNet<Policy, Where, Gradient> net(executor, storage, shape, options.batch);
  using Low = low_t<Policy>;
  using Optimizer = mezzo::MasterOptimizer<mezzo::Sgd, Low>;
  const mezzo::Sgd::Options decayed{.lr = options.learning_rate, .momentum = options.momentum, .weight_decay = options.weight_decay};
  const mezzo::Sgd::Options undecayed{.lr = options.learning_rate, .momentum = options.momentum};
  Optimizer optimizer(executor, net.parameters(), {decayed, undecayed},
                      storage.take<std::byte>(Use::optimizer, Optimizer::storage_bytes(net.parameters(), 2)));
  std::vector<Span<float>> masters;
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    masters.push_back(optimizer.master(i));
    const std::vector<float> values = net.initial_values(i, options.seed);
    memory.copy(masters[i].data(), values.data(), values.size() * sizeof(float));
    memory.wait();
  }
  optimizer.copy_masters_to_model();

  const std::uint32_t step_images = options.batch * options.accumulate;
  const auto steps_per_epoch = static_cast<std::uint32_t>(training.size() / step_images);   // what is left over waits for the next epoch
  std::uint32_t total_steps = steps_per_epoch * options.epochs;
  if (options.max_steps != 0) total_steps = std::min(total_steps, options.max_steps);
  const mezzo::LearningRateSchedule schedule = mezzo::cosine_schedule(total_steps);
  optimizer.set_schedule(schedule);

  const BatchLoader<Low> loader(training);
  std::vector<Low> images(net.images().size());
  std::vector<std::int32_t> labels(options.batch);
  Result result;
  result.name = name;
  Progress progress(name, options.epochs, total_steps);
  output.start(name);
  Step row;

  while (result.steps < total_steps && !interrupted()) {
    const std::uint32_t epoch = result.steps / steps_per_epoch, first_step = result.steps;
    const std::vector<std::uint32_t> order = epoch_order(options.seed, epoch, static_cast<std::uint32_t>(training.size()));

    while (result.steps < total_steps && result.steps - first_step < steps_per_epoch && !interrupted()) {
      const auto start = std::chrono::steady_clock::now();
      for (std::uint32_t part = 0; part < options.accumulate; ++part) {
        // From the file: cropped and mirrored, normalised, in the network's type.
        const std::size_t offset = (result.steps - first_step) * std::size_t{step_images} + part * std::size_t{options.batch};
        const std::span<const std::uint32_t> chosen(order.data() + offset, options.batch);
        if (options.augment)
          loader.load_augmented(chosen, options.seed, epoch, images, labels);
        else
          loader.load(chosen, images, labels);
        memory.copy(net.images().data(), images.data(), images.size() * sizeof(Low));
        memory.copy(net.labels().data(), labels.data(), labels.size() * sizeof(std::int32_t));

        // Forward; the loss, whose gradient carries the scale; backward. Later parts add to the gradients of the first.
        const Accumulate accumulate = part == 0 ? Accumulate::no : Accumulate::yes;
        net.forward(true);
        net.compute_loss(scaler.device_view(), step_images, accumulate);
        net.backward(accumulate);
        memory.wait();   // the images' memory is filled anew
      }
      // Unscaled, clipped, applied to the masters and rounded into the model; skipped if a gradient overflowed.
      if (options.clip > 0.f) mezzo::clip_grad_norm(scaler, optimizer, options.clip);
      scaler.step(optimizer);
      scaler.update();

      // What there is to tell about this step.
      float loss = 0.f;
      std::int32_t correct = 0;
      memory.copy(&loss, net.loss().data(), sizeof loss);
      memory.copy(&correct, net.correct().data(), sizeof correct);
      const mezzo::OptimizerState state = optimizer.state();   // waits
      result.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      ++result.steps;
      result.images_per_second = static_cast<double>(result.steps) * step_images / result.seconds;
      result.skipped = state.skipped_steps;
      result.loss = loss;
      row = {.step = result.steps,
             .epoch = epoch + 1,
             .loss = loss,
             .train_accuracy = 100.f * static_cast<float>(correct) / static_cast<float>(step_images),
             .learning_rate = options.learning_rate * static_cast<float>(schedule.factor(result.steps - 1 - state.skipped_steps)),
             .scale = scaler.state().scale,
             .skipped = result.skipped,
             .images_per_second = result.images_per_second,
             .test_accuracy = {}};
      const bool epoch_ends = result.steps == total_steps || result.steps - first_step == steps_per_epoch;
      if (epoch_ends && !interrupted()) result.test_accuracy = row.test_accuracy = test_accuracy(net, memory, test);
      output.add(row);
      progress.show(row, result.seconds);
    }
  }

  result.complete = result.steps == total_steps;
  result.final_scale = scaler.state().scale;
  if (result.complete) {
    const float scale = result.final_scale > 1.f ? result.final_scale : scale_config.init_scale;
    result.flushed = measure_flushed(executor, shape, training, options.batch, step_images, masters, scale);
  }
  result.bytes = storage.bytes();
  return result;
}

/// One run: picks the types that the command line and the environment ask for.
Result run(const mezzo::HostExecutor& executor, Precision precision, bool autocast, const Options& options,
           const Dataset& training, const Dataset& test, Output& output) {
  constexpr mezzo::PolicyChoices<Autocast<float>, Autocast<mezzo::float16>, Autocast<mezzo::bfloat16>, Autocast<float>::disabled>
      choices{"float32", "float16", "bfloat16", "autocast off"};
  const char* const policy = !autocast                                  ? "autocast off"
                             : precision == Precision::float16_unscaled ? "float16"
                                                                        : name_of(precision);
  const std::string name = name_of(precision);
  const auto train_with = [&](mezzo::LossScalerBase& scaler) {
    return choices.dispatch(policy, [&]<class Policy>(Policy) {
      // Gradients that are added up over several passes stay in float: 16 bits would lose the small ones.
      if (options.accumulate > 1) return train<Policy, float>(executor, name, scaler, options, training, test, output);
      return train<Policy, low_t<Policy>>(executor, name, scaler, options, training, test, output);
    });
  };
  // float16 needs its gradients scaled; float32 and bfloat16 have exponents enough.
  const bool scaled = options.scaling == Scaling::dynamic ? precision != Precision::float16_unscaled
                                                          : options.scaling == Scaling::automatic && precision == Precision::float16;
  if (scaled) {
    mezzo::DynamicLossScaler<scale_config> scaler(executor);
    return train_with(scaler);
  }
  mezzo::NoLossScaler::with<mezzo::Check::skip_nonfinite> scaler(executor);
  return train_with(scaler);
}

nlohmann::ordered_json to_json(const Options& options, bool autocast, const Dataset& training, const Dataset& test) {
  const auto names = [](const Dataset& data) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const MappedFile& file : data.files()) list.push_back(file.path().filename().string());
    return list;
  };
  return {{"depth", options.depth},
          {"epochs", options.epochs},
          {"batch", options.batch},
          {"accumulate", options.accumulate},
          {"learning_rate", options.learning_rate},
          {"momentum", options.momentum},
          {"weight_decay", options.weight_decay},
          {"clip", options.clip},
          {"seed", options.seed},
          {"augment", options.augment},
          {"autocast", autocast},
          {"device", options.device == Device::host ? "host" : "cuda"},
          {"training_files", names(training)},
          {"training_images", training.size()},
          {"test_files", names(test)},
          {"test_images", test.size()}};
}

/// Prints which runs miss --expect-accuracy or --expect-gap; returns whether none does.
bool meets_expectations(const Options& options, const std::vector<Result>& results) {
  bool met = true;
  for (const Result& result : results) {
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
  if (options.device == Device::cuda) {
    std::fprintf(stderr, "error: --device: must be host in this build, which has no CUDA back end, got cuda\n");
    return Exit::no_device;
  }
  const bool autocast = mezzo::enabled_from_environment("MEZZO_AUTOCAST");
  const Dataset training(options.train_files), test(options.test_files);
  if (share_a_file(training, test)) throw OptionError("--test: must be other images than those of --train, got the same file");
  if (options.verify) {
#ifdef CIFAR10_HAS_CRYPTO
    for (const Dataset* data : {&training, &test})
      for (const MappedFile& file : data->files()) verify_digest(file);
#else
    throw OptionError("--verify: this build has no libcrypto, which computes SHA-1");
#endif
  }
  check_batch(options, training.size());
  std::vector<std::string> names;
  for (const Precision precision : options.precisions) names.push_back(name_of(precision));
  Output output(options.output, names);

  const mezzo::HostExecutor executor;
  watch_for_interrupts();
  std::printf("ResNet-%d, %zu training and %zu test images, batch %u%s, %u epochs, seed %llu%s\n", options.depth, training.size(),
              test.size(), options.batch, options.accumulate > 1 ? format(" x %u", options.accumulate).c_str() : "", options.epochs,
              static_cast<unsigned long long>(options.seed), autocast ? "" : ", autocast off: all in float32");
  std::vector<Result> results;
  for (const Precision precision : options.precisions)
    if (!interrupted()) results.push_back(run(executor, precision, autocast, options, training, test, output));

  const std::string text = table(results);
  std::printf("\n%s", text.c_str());
  nlohmann::ordered_json json{{"options", to_json(options, autocast, training, test)}, {"machine", describe_machine()}};
  for (const Result& result : results) json["runs"].push_back(to_json(result));
  output.write("table.md", text);
  output.write("results.json", json.dump(2) + "\n");
  std::printf("\ncurves, table and figures: %s\n", output.folder().c_str());
  if (interrupted()) return Exit::interrupted;
  return meets_expectations(options, results) ? Exit::success : Exit::below_expectation;
}

Exit main(int argc, char** argv) {
  const auto refuse = [](Exit code, const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", error.what());
    return code;
  };
  try {
    Options options;
    return parse_options(argc, argv, CIFAR10_DATA, options) ? compare(options) : Exit::success;
  } catch (const OptionError& error) {
    return refuse(Exit::bad_option, error);
  } catch (const DataError& error) {
    return refuse(Exit::bad_data, error);
  } catch (const OutputError& error) {
    return refuse(Exit::bad_output, error);
  } catch (const mezzo::InvalidArgument& error) {   // the environment variable, say
    return refuse(Exit::bad_option, error);
  } catch (const std::exception& error) {
    return refuse(Exit::failure, error);
  }
}

}  // namespace cifar10

int main(int argc, char** argv) { return static_cast<int>(cifar10::main(argc, argv)); }
