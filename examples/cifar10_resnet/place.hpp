#pragma once
// What the training loop asks of the place it runs on. The host's answers are here, those of a CUDA device in
// cuda/place.cuh; everything else in the program is the same for both.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <mezzo/executor/host.hpp>
#include <mezzo/loss_scale/state.hpp>
#include <mezzo/optim/optimizer_state.hpp>

#include "batch.hpp"
#include "options.hpp"
#include "result.hpp"

namespace cifar10 {

/// What a step leaves to be told. The copies are queued behind the step and read after a wait.
struct Numbers {
  float loss = 0.f;
  std::int32_t correct = 0;
  mezzo::LossScaleState scaler;
  mezzo::OptimizerState optimizer;
};

template <mezzo::Executor Where>
class Place;

template <>
class Place<mezzo::HostExecutor> {
 public:
  static constexpr std::int64_t image_channels = channels;   // of an image in the network's memory
  static constexpr std::uint32_t log_every = 1;              // steps; each is waited for
  static constexpr bool counts_flushed = true;               // whether measure_flushed is worth its time

  Place(const mezzo::HostExecutor&, const Options&) {}

  /// Runs a step.
  template <class Step>
  void run(const Step& step) { step(); }

  /// Where Numbers can be copied to without a wait.
  Numbers& numbers() { return numbers_; }

  void training_begins() {}
  std::optional<DeviceMemory> memory(std::uint64_t) const { return {}; }

 private:
  Numbers numbers_;
};

/// The batches of a run, written to the network's memory: crops, mirror images, the network's type.
template <mezzo::Executor Where, class T>
class Feed;

template <class T>
class Feed<mezzo::HostExecutor, T> {
 public:
  /// Both data sets must outlive it.
  Feed(const mezzo::HostExecutor&, const Dataset& training, const Dataset& test, const Options& options)
      : training_(training), test_(test), images_(static_cast<std::uint32_t>(training.size())), options_(options) {}

  /// A new order of the training images.
  void start_epoch(std::uint32_t epoch) {
    epoch_ = epoch;
    order_ = epoch_order(options_.seed, epoch, images_);
    position_ = 0;
  }

  /// The next batch of the epoch. @param images [N, 32, 32, 3]; @param labels [N]
  void next(mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) {
    const std::span<const std::uint32_t> chosen(order_.data() + position_, labels.size());
    if (options_.augment)
      training_.load_augmented(chosen, options_.seed, epoch_, images, labels);
    else
      training_.load(chosen, images, labels);
    position_ += labels.size();
  }

  /// `count` test images from `first` on, as they are, in the first places of the batch.
  void test(std::size_t first, std::size_t count, mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) {
    test_.load(first, count, images, labels);
  }

  std::uint64_t bytes() const { return 0; }   // of device memory

 private:
  BatchLoader<T> training_, test_;
  std::uint32_t images_;
  Options options_;
  std::uint32_t epoch_ = 0;
  std::vector<std::uint32_t> order_;
  std::size_t position_ = 0;
};

}  // namespace cifar10
