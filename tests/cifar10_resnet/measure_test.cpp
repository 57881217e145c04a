#include "../../examples/cifar10_resnet/measure.hpp"
#include "../../examples/cifar10_resnet/place.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <vector>

#include <mezzo/executor/host.hpp>

#include "temporary_folder.hpp"

using namespace cifar10;

namespace {

using Net = ResNet<mezzo::Autocast<float>>;
const Architecture tiny{{4}, {1}};

struct Images {
  TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;
  explicit Images(std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) {
      bytes += static_cast<char>(i % classes);
      for (std::size_t c = 0; c < channels; ++c)   // one colour each, so that images differ in what is left after pooling
        bytes.append(side * side, static_cast<char>(random_bits(3, Purpose::crop, i, c) >> 56));
    }
    paths = {folder.write("images.bin", bytes)};
  }
};

void initialise(const Net& net) {
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const auto values = net.initial_values(i, 1);
    std::ranges::copy(values, net.parameters()[i].model.as<float>().begin());
  }
}

}  // namespace

TEST_CASE("accuracy_counts_every_test_image_once_whatever_the_batch") {
  const Images images(11);
  const Dataset test(images.paths);
  const mezzo::HostExecutor executor;
  std::vector<float> accuracies;
  for (const std::size_t batch : {1u, 2u, 3u, 4u, 5u, 10u, 11u, 12u, 30u}) {
    Storage storage{executor};
    Net net(executor, storage, tiny, batch);
    initialise(net);
    Feed<mezzo::HostExecutor, float> feed(executor, test, test, Options{});
    accuracies.push_back(test_accuracy(net, feed, executor, test.size()).value());
  }
  // One image after the other, by hand.
  Storage storage{executor};
  Net net(executor, storage, tiny, 1);
  initialise(net);
  const BatchLoader<float> loader(test);
  int right = 0;
  std::set<std::ptrdiff_t> answers;
  for (std::size_t i = 0; i < test.size(); ++i) {
    loader.load(i, 1, net.images(), net.labels());
    net.forward(false);
    const float* const logits = net.logits().data();
    const std::ptrdiff_t answer = std::max_element(logits, logits + classes) - logits;
    answers.insert(answer);
    right += answer == test.label(i);
  }
  CHECK(answers.size() >= 3);   // not one answer for all, which any counting would get right
  CHECK(right > 0);
  CHECK(right < 11);
  for (const float accuracy : accuracies) CHECK(accuracy == 100.f * static_cast<float>(right) / 11.f);
}

TEST_CASE("an_interrupt_ends_the_test_without_an_accuracy") {
  struct Interrupted {   // while the second batch is loaded
    int batches = 0;
    void test(std::size_t, std::size_t, Span<float>, Span<std::int32_t>) {
      if (++batches == 2) detail::interrupt_seen = 1;
    }
  } feed;
  const mezzo::HostExecutor executor;
  Storage storage{executor};
  Net net(executor, storage, tiny, 2);
  initialise(net);
  const auto accuracy = test_accuracy(net, feed, executor, 100);
  detail::interrupt_seen = 0;
  CHECK(!accuracy);
  CHECK(feed.batches == 2);
}

TEST_CASE("a_gradient_is_lost_when_float16_rounds_it_to_zero_and_zeros_do_not_count") {
  const mezzo::AnyExecutor executor{mezzo::HostExecutor{}};
  std::uint64_t seen = 0, without = 0, with = 0;
  const FlushCounter counter{executor, 1024.f, seen, without, with};
  // Half of the smallest subnormal, 2^-25, is a tie and rounds to even: zero. The next float above rounds up.
  std::vector<float> gradients{0.f, -0.f, 0x1p-25f, -0x1p-25f, 0x1.000002p-25f, 1.f, 0x1p-35f, 0x1.000002p-35f, 0x1p-100f};
  counter(Span<float>(gradients));
  CHECK(seen == 7);
  CHECK(without == 5);
  CHECK(with == 2);
  counter(Span<float>(gradients));   // counts go on
  CHECK(seen == 14);
}

TEST_CASE("scaling_keeps_gradients_that_float16_would_lose") {
  const Images images(20);
  const Dataset data(images.paths);
  const mezzo::HostExecutor executor;
  Storage storage{executor};
  const Net net(executor, storage, tiny, 1);
  initialise(net);
  std::vector<Span<float>> weights;
  for (const auto& parameter : net.parameters()) weights.push_back(parameter.model.as<float>());
  const Flushed few = measure_flushed(executor, tiny, data, 20, 1 << 20, weights, 65536.f);
  CHECK(few.scale == 65536.f);
  CHECK(few.without_scale > 1.);
  CHECK(few.without_scale <= 100.);
  CHECK(few.with_scale < few.without_scale / 10);
  const Flushed larger = measure_flushed(executor, tiny, data, 20, 20, weights, 65536.f);   // a mean over fewer images
  CHECK(larger.without_scale < few.without_scale);
  const Flushed none = measure_flushed(executor, tiny, data, 20, 1 << 20, weights, 1.f);
  CHECK(none.with_scale == few.without_scale);
  CHECK(none.without_scale == few.without_scale);
}
