#pragma once
// The training itself: `train` follows a batch from the data set to the updated weights, on the host or on a CUDA device.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <mezzo/mezzo.hpp>
#include <mezzo/ops/ops.hpp>

#include "dataset.hpp"
#include "interrupt.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "place.hpp"
#include "result.hpp"
#include "resnet.hpp"

namespace cifar10 {

/// Grows after 100 clean steps instead of the default 2,000: a run of the demo has a few hundred.
constexpr mezzo::LossScaleConfig scale_config{.growth_interval = 100};

/// Trains one network from `options.seed` and measures it.
///
/// @tparam Policy   which operations run in which type
/// @tparam Gradient type of the weights' gradients
template <class Policy, class Gradient, mezzo::Executor Where>
Result train(const Where& executor, Precision precision, mezzo::LossScalerBase& scaler, const Options& options,
             const Dataset& training, const Dataset& test, Output& output) {
  // The network, its weights, and the float32 masters that the optimizer keeps of them.
  const mezzo::AnyExecutor memory(executor);
  Place<Where> place(executor, options);
  Storage storage(memory);
  const Architecture shape = architecture(options.depth);
  const bool tf32 = precision == Precision::tf32 && Policy::is_enabled;   // with autocast off float32 is float32
  const auto math = tf32 ? mezzo::Float32Math::tf32 : mezzo::Float32Math::ieee;
  ResNet<Policy, Where, Gradient> net(executor, storage, shape, options.batch, Place<Where>::image_channels, math);
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

  const Length length = length_of(options, training.size());
  optimizer.set_schedule(mezzo::cosine_schedule(length.total_steps));   // skipped steps do not count

  Feed<Where, Low> feed(executor, training, test, options);
  const auto step = [&] {
    for (std::uint32_t part = 0; part < options.accumulate; ++part) {
      // From the data set: cropped and mirrored, normalised, in the network's type.
      feed.next(net.images(), net.labels());

      // Forward; the loss, whose gradient carries the scale; backward. Later parts add to the gradients of the first.
      const Accumulate accumulate = part == 0 ? Accumulate::no : Accumulate::yes;
      net.forward(true);
      net.compute_loss(scaler.device_view(), length.step_images, accumulate);
      net.backward(accumulate);
    }
    // Unscaled, clipped, applied to the masters and rounded into the model; skipped if a gradient overflowed.
    if (options.clip > 0.f) mezzo::clip_grad_norm(scaler, optimizer, options.clip);
    scaler.step(optimizer);
    scaler.update();
  };

  Result result;
  result.name = name_of(precision);
  Progress progress(result.name, options.epochs, length.total_steps);
  output.start(result.name);
  const std::uint32_t log_every = options.log_every != 0 ? options.log_every : Place<Where>::log_every;
  bool stopping = interrupted();
  place.training_begins();
  auto start = std::chrono::steady_clock::now();

  while (result.steps < length.total_steps && !stopping) {
    const std::uint32_t epoch = result.steps / length.steps_per_epoch;
    const std::uint32_t last_step = std::min(length.total_steps, (epoch + 1) * length.steps_per_epoch);
    feed.start_epoch(epoch);

    while (result.steps < last_step && !stopping) {
      place.run(step);
      ++result.steps;
      stopping = interrupted();
      const bool epoch_ends = result.steps == last_step, warm = result.steps == options.warmup_steps;
      if (!epoch_ends && !stopping && !warm && result.steps % log_every != 0) continue;

      // What there is to tell about this step. Only here the program waits for the steps that it has queued.
      Numbers& numbers = place.numbers();
      memory.copy(&numbers.loss, net.loss().data(), sizeof numbers.loss);
      memory.copy(&numbers.correct, net.correct().data(), sizeof numbers.correct);
      scaler.state_async(&numbers.scaler);
      optimizer.state_async(&numbers.optimizer);
      memory.wait();
      if (result.steps > options.warmup_steps) {
        result.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        result.images_per_second = static_cast<double>(result.steps - options.warmup_steps) * length.step_images / result.seconds;
      }
      result.skipped = numbers.scaler.skipped_steps;
      result.loss = numbers.loss;
      Step row{.step = result.steps,
               .epoch = epoch + 1,
               .loss = numbers.loss,
               .train_accuracy = 100.f * static_cast<float>(numbers.correct) / static_cast<float>(length.step_images),
               .learning_rate = options.learning_rate * numbers.optimizer.schedule_factor,
               .scale = numbers.scaler.scale,
               .skipped = result.skipped,
               .images_per_second = result.images_per_second,
               .test_accuracy = {}};
      if (epoch_ends && !stopping) row.test_accuracy = test_accuracy(net, feed, memory, test.size());
      if (row.test_accuracy) {
        result.test_accuracy = row.test_accuracy;
        result.tested_epoch = row.epoch;
        result.complete = result.steps == length.total_steps;
      }
      stopping = interrupted();   // a test is left then
      output.add(row);
      progress.show(row);
      start = std::chrono::steady_clock::now();
    }
  }

  result.final_scale = scaler.state().scale;
  result.bytes = storage.bytes();
  result.device = place.memory(feed.bytes());
  if constexpr (Place<Where>::counts_flushed)
    if (result.complete) try {
        const float scale = result.final_scale > 1.f ? result.final_scale : scale_config.init_scale;
        result.flushed = measure_flushed(executor, shape, training, options.batch, length.step_images, masters, scale);
      } catch (const mezzo::OutOfMemory&) {   // it needs a second network; the training is worth telling without it
      } catch (const std::bad_alloc&) {       // and vectors of its gradients
      }
  return result;
}

}  // namespace cifar10
