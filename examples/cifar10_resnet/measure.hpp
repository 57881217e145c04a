#pragma once
// What is measured beside the training itself: test accuracy, and the gradients that float16 would lose.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <mezzo/numeric/convert.hpp>
#include <mezzo/policy/policy.hpp>

#include "batch.hpp"
#include "interrupt.hpp"
#include "result.hpp"
#include "resnet.hpp"

namespace cifar10 {

/// Percent of the test images that the network names rightly, with its running statistics; nothing when interrupted. Overwrites its
/// activations.
///
/// @param images how many the feed's test images are
template <class Net, class Batches>
std::optional<float> test_accuracy(Net& net, Batches& feed, const mezzo::AnyExecutor& executor, std::size_t images) {
  const auto batch = static_cast<std::size_t>(net.batch());
  for (std::size_t first = 0; first < images; first += batch) {
    if (interrupted()) return {};
    const std::size_t n = std::min(batch, images - first);   // behind the last n there are others, which are not counted
    feed.test(first, n, net.images(), net.labels());
    net.forward(false);
    net.evaluate(n, first == 0 ? Accumulate::no : Accumulate::yes);
  }
  std::int32_t correct = 0;
  executor.copy(&correct, net.correct().data(), sizeof correct);
  executor.wait();
  return 100.f * static_cast<float>(correct) / static_cast<float>(images);
}

/// Counts gradients that are not zero in float but are in float16: as they are, and after multiplication by `scale`.
struct FlushCounter {
  const mezzo::AnyExecutor& executor;
  float scale;
  std::uint64_t& seen;
  std::uint64_t& lost_without;
  std::uint64_t& lost_with;

  void operator()(Span<float> gradients) const {
    std::vector<float> values(gradients.size());
    executor.copy(values.data(), gradients.data(), values.size() * sizeof(float));
    executor.wait();
    const auto flushes = [](float value) { return mezzo::convert<float>(mezzo::convert<mezzo::float16>(value)) == 0.f; };
    for (const float value : values) {
      if (value == 0.f) continue;
      ++seen;
      lost_without += flushes(value);
      lost_with += flushes(value * scale);
    }
  }
};

/// One backward pass in float32 with the given weights over the first images of `data`. Counted are the gradients that
/// ResNet::backward shows: those by weights of convolutions and classifier and by activations, but not those by bias, gamma and
/// beta, nor what a shortcut's convolution adds to the gradient by a block's input.
///
/// @param weights   of each parameter, in the executor's memory
/// @param mean_over images in one step of the training that is measured, which divides its loss by them
template <mezzo::Executor Where>
Flushed measure_flushed(const Where& executor, const Architecture& shape, const Dataset& data, std::size_t batch,
                        std::int64_t mean_over, const std::vector<Span<float>>& weights, float scale) {
  const mezzo::AnyExecutor memory(executor);
  Storage storage(memory);
  ResNet<mezzo::Autocast<float>, Where> net(executor, storage, shape, batch);
  for (std::size_t i = 0; i < weights.size(); ++i)
    memory.copy(net.parameters()[i].model.data(), weights[i].data(), weights[i].size() * sizeof(float));

  std::vector<float> images(net.images().size());
  std::vector<std::int32_t> labels(batch);
  BatchLoader<float>(data).load(0, batch, images, labels);
  memory.copy(net.images().data(), images.data(), images.size() * sizeof(float));
  memory.copy(net.labels().data(), labels.data(), labels.size() * sizeof(std::int32_t));

  std::uint64_t seen = 0, lost_without = 0, lost_with = 0;
  net.forward(true);
  net.compute_loss(1.f, mean_over);
  net.backward(Accumulate::no, FlushCounter{memory, scale, seen, lost_without, lost_with});
  const double percent = seen == 0 ? 0. : 100. / static_cast<double>(seen);
  return {percent * static_cast<double>(lost_without), percent * static_cast<double>(lost_with), scale};
}

}  // namespace cifar10
