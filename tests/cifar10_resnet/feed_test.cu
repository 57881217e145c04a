#include "../../examples/cifar10_resnet/cuda/place.cuh"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/skip.hpp"
#include "temporary_folder.hpp"

using namespace cifar10;

namespace {

bool gpu_available() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

std::filesystem::path write_images(const TemporaryFolder& folder, const char* name, std::size_t count, std::uint64_t seed) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += static_cast<char>(random_bits(seed, Purpose::order, 0, i) % classes);
    for (std::size_t j = 0; j < image_bytes; ++j) bytes += static_cast<char>(random_bits(seed, Purpose::crop, i, j) >> 56);
  }
  return folder.write(name, bytes);
}

/// Batches of one feed, in host memory.
template <class Where, class T>
struct Batches {
  static constexpr std::size_t stored = static_cast<std::size_t>(Place<Where>::image_channels);
  Where executor;
  std::size_t batch;
  Feed<Where, T> feed;
  mezzo::Memory images, labels;

  Batches(const Where& where, const Dataset& training, const Dataset& test, const Options& options)
      : executor(where),
        batch(options.batch),
        feed(where, training, test, options),
        images(where, batch * side * side * stored * sizeof(T)),
        labels(where, batch * sizeof(std::int32_t)) {}

  mezzo::Span<T> image_span() { return {reinterpret_cast<T*>(images.data()), images.size() / sizeof(T)}; }
  mezzo::Span<std::int32_t> label_span() { return {reinterpret_cast<std::int32_t*>(labels.data()), batch}; }

  /// The batch at hand: [n, 32, 32, stored].
  std::vector<T> read_images() {
    std::vector<T> values(image_span().size());
    executor.copy(values.data(), images.data(), images.size());
    executor.wait();
    return values;
  }
  std::vector<std::int32_t> read_labels() {
    std::vector<std::int32_t> values(batch);
    executor.copy(values.data(), labels.data(), labels.size());
    executor.wait();
    return values;
  }
};

/// Whether the first `count` images have the same bits in both, and zeros in the further channels of `padded`.
template <class T>
bool same_images(const std::vector<T>& plain, const std::vector<T>& padded, std::size_t count) {
  constexpr std::size_t stored = static_cast<std::size_t>(Place<mezzo::CudaExecutor>::image_channels);
  const T zero{};
  for (std::size_t pixel = 0; pixel < count * side * side; ++pixel)
    for (std::size_t c = 0; c < stored; ++c) {
      const T& expected = c < channels ? plain[pixel * channels + c] : zero;
      if (std::memcmp(&padded[pixel * stored + c], &expected, sizeof(T)) != 0) return false;
    }
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE("the_device_makes_the_batches_of_the_host_bit_for_bit", T, float, mezzo::float16, mezzo::bfloat16) {
  if (!gpu_available()) MEZZO_SKIP("no GPU");
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> training_files{write_images(folder, "a.bin", 23, 1), write_images(folder, "b.bin", 18, 2)};
  const std::vector<std::filesystem::path> test_files{write_images(folder, "c.bin", 12, 3)};
  const Dataset training(training_files), test(test_files);
  for (const bool augment : {true, false}) {
    Options options;
    options.batch = 5;
    options.seed = 7;
    options.augment = augment;
    Batches<mezzo::HostExecutor, T> host(mezzo::HostExecutor{}, training, test, options);
    Batches<mezzo::CudaExecutor, T> cuda(mezzo::CudaExecutor{nullptr}, training, test, options);
    for (const std::uint32_t epoch : {0u, 3u}) {
      host.feed.start_epoch(epoch);
      cuda.feed.start_epoch(epoch);
      for (int i = 0; i < 8; ++i) {
        host.feed.next(host.image_span(), host.label_span());
        cuda.feed.next(cuda.image_span(), cuda.label_span());
        CHECK(same_images(host.read_images(), cuda.read_images(), 5));
        CHECK(host.read_labels() == cuda.read_labels());
      }
    }
    // The last test batch has 2 images; behind them a device may leave others than the host.
    for (const std::size_t first : {0u, 5u, 10u}) {
      const std::size_t count = std::min<std::size_t>(5, 12 - first);
      host.feed.test(first, count, host.image_span(), host.label_span());
      cuda.feed.test(first, count, cuda.image_span(), cuda.label_span());
      CHECK(same_images(host.read_images(), cuda.read_images(), count));
      const auto expected = host.read_labels(), got = cuda.read_labels();
      CHECK(std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count), got.begin()));
    }
  }
}

TEST_CASE("a_replayed_recording_takes_the_next_batch") {
  if (!gpu_available()) MEZZO_SKIP("no GPU");
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> files{write_images(folder, "a.bin", 60, 1)};
  const Dataset data(files);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  {
    const mezzo::CudaExecutor executor(stream);
    Options options;
    options.batch = 4;
    Batches<mezzo::HostExecutor, float> host(mezzo::HostExecutor{}, data, data, options);
    Batches<mezzo::CudaExecutor, float> cuda(executor, data, data, options);
    Place<mezzo::CudaExecutor> place(executor, options);
    int called = 0;
    for (const std::uint32_t epoch : {0u, 1u}) {
      host.feed.start_epoch(epoch);
      cuda.feed.start_epoch(epoch);
      for (int i = 0; i < 15; ++i) {
        host.feed.next(host.image_span(), host.label_span());
        place.run([&] { ++called, cuda.feed.next(cuda.image_span(), cuda.label_span()); });
        CHECK(same_images(host.read_images(), cuda.read_images(), 4));
        CHECK(host.read_labels() == cuda.read_labels());
      }
    }
    CHECK(called == 4);   // three as they are, one recorded
  }
  cudaStreamDestroy(stream);
}
