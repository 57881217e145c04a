#pragma once
// The training loop on a CUDA device: see place.hpp.
//
// Nothing here waits inside a step. Both data sets lie on the device as bytes; a kernel crops, mirrors and normalises. The
// place in the epoch is kept on the device too, so that a recorded step, replayed, takes the next batch.

#include <cstdint>
#include <memory>
#include <optional>

#include <cuda_runtime.h>

#include <mezzo/core/nvtx.hpp>
#include <mezzo/executor/cuda.cuh>

#include "../place.hpp"

namespace cifar10 {

inline void check(cudaError_t error, const char* call) {
  mezzo::detail::check_cuda(error, call, std::source_location::current());
}

/// Page-locked host memory, which copies reach without a wait.
template <class T>
class Pinned {
 public:
  explicit Pinned(std::size_t count = 1) {
    check(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMallocHost");
    std::uninitialized_value_construct_n(data_, count);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { static_cast<void>(cudaFreeHost(data_)); }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

template <>
class Place<mezzo::CudaExecutor> {
 public:
  static constexpr std::int64_t image_channels = 8;   // a 16-bit pixel is then one 16-byte access
  static constexpr std::uint32_t log_every = 50;
  static constexpr bool counts_flushed = false;       // a second network, and all its gradients through the host

  Place(const mezzo::CudaExecutor& executor, const Options& options) : executor_(executor), graphs_(options.graph) {
    check(cudaDeviceGetDefaultMemPool(&pool_, executor.device()), "cudaDeviceGetDefaultMemPool");
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (recording_ != nullptr) static_cast<void>(cudaGraphExecDestroy(recording_));
  }

  /// Queues a step. The first are queued call by call, so that every library has set itself up; then one is recorded, and it
  /// and all later ones are replays of the recording.
  template <class Step>
  void run(const Step& step) {
    if (!graphs_ || queued_ < steps_before_recording) {
      ++queued_;
      step();
      return;
    }
    if (recording_ == nullptr) record(step);
    check(cudaGraphLaunch(recording_, executor_.stream()), "cudaGraphLaunch");
  }

  Numbers& numbers() { return *numbers_.data(); }

  /// From here on the peak counts: planning, which tries kernels on memory of its own, is over.
  void training_begins() {
    executor_.wait();
    std::uint64_t zero = 0;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &zero), "cudaMemPoolSetAttribute");
  }

  /// @param data_set bytes of it
  std::optional<DeviceMemory> memory(std::uint64_t data_set) const {
    DeviceMemory memory{.peak = 0, .data_set = data_set, .device_used = 0};
    check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &memory.peak), "cudaMemPoolGetAttribute");
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    memory.device_used = total - free;
    return memory;
  }

 private:
  static constexpr int steps_before_recording = 3;

  template <class Step>
  void record(const Step& step) {
    const mezzo::NvtxRange range("record a step");
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(executor_.stream(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    try {
      step();
    } catch (...) {
      if (cudaStreamEndCapture(executor_.stream(), &graph) == cudaSuccess) static_cast<void>(cudaGraphDestroy(graph));
      throw;
    }
    check(cudaStreamEndCapture(executor_.stream(), &graph), "cudaStreamEndCapture");
    const cudaError_t error = cudaGraphInstantiate(&recording_, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    check(error, "cudaGraphInstantiate");
  }

  mezzo::CudaExecutor executor_;
  bool graphs_;
  int queued_ = 0;
  cudaGraphExec_t recording_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  Pinned<Numbers> numbers_;
};

/// Where in the epoch the next batch begins; on the device.
struct Cursor {
  std::uint32_t epoch = 0, position = 0;
};

/// Moves the cursor behind a batch.
struct Advance {
  Cursor* cursor;
  std::uint32_t images;
  __device__ void operator()() const { cursor->position += images; }
};

/// Writes one pixel of a batch, and one label an image. Without `order`, images follow one another from `first` on.
template <class T>
struct LoadPixel {
  static constexpr int stored = Place<mezzo::CudaExecutor>::image_channels;
  struct alignas(16) Pixel {
    T value[stored];
  };

  const std::uint8_t* records;   // [size, 3073] as in the file
  std::uint32_t size;
  const std::uint32_t* order;    // [size] of the epoch
  const Cursor* cursor;
  std::uint32_t first;
  const T* values;               // [3, 256] what a byte becomes
  bool augment;
  std::uint64_t seed;
  Pixel* images;                 // [N, 32, 32]
  std::int32_t* labels;          // [N]

  __device__ void operator()(std::uint64_t i) const {
    constexpr int edge = static_cast<int>(side), area = edge * edge;
    const auto n = static_cast<std::uint32_t>(i / area);
    const int pixel = static_cast<int>(i % area), y = pixel / edge, x = pixel % edge;
    std::uint32_t image = first + n;
    if (order != nullptr) image = order[cursor->position + n];
    if (image >= size) image = size - 1;   // the last test batch is not full; what is behind its images is not counted
    const std::uint8_t* const record = records + std::uint64_t{image} * record_bytes;
    if (pixel == 0) labels[n] = record[0];

    Crop crop;
    if (augment) crop = random_crop(seed, cursor->epoch, image);
    const int from_y = y + crop.top;
    const int from_x = (crop.mirrored ? edge - 1 - x : x) + crop.left;
    Pixel out{};
    if (from_y >= 0 && from_y < edge && from_x >= 0 && from_x < edge) {
      const std::uint8_t* const from = record + 1 + from_y * edge + from_x;
      for (int c = 0; c < static_cast<int>(channels); ++c) out.value[c] = values[c * 256 + from[c * area]];
    }
    images[i] = out;
  }
};

template <class T>
class Feed<mezzo::CudaExecutor, T> {
 public:
  /// Copies both data sets to the device. Waits.
  Feed(const mezzo::CudaExecutor& executor, const Dataset& training, const Dataset& test, const Options& options)
      : executor_(executor),
        options_(options),
        training_(upload(training)),
        test_(upload(test)),
        order_(executor, training.size() * sizeof(std::uint32_t)),
        values_(executor, sizeof(normalised_values<T>())),
        cursor_(executor, sizeof(Cursor)),
        next_order_(training.size()) {
    const auto values = normalised_values<T>();
    executor.copy(values_.data(), &values, sizeof values);
    executor.wait();
  }

  /// A new order of the training images. The epoch before must have been waited for.
  void start_epoch(std::uint32_t epoch) {
    const auto order = epoch_order(options_.seed, epoch, training_.size);
    std::copy(order.begin(), order.end(), next_order_.data());
    *next_cursor_.data() = {.epoch = epoch, .position = 0};
    executor_.copy(order_.data(), next_order_.data(), order.size() * sizeof(std::uint32_t));
    executor_.copy(cursor_.data(), next_cursor_.data(), sizeof(Cursor));
  }

  /// The next batch of the epoch. @param images [N, 32, 32, 8], zeros from the fourth channel on; @param labels [N]
  void next(mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) {
    const mezzo::NvtxRange range("load a batch");
    const auto count = static_cast<std::uint32_t>(labels.size());
    auto* const cursor = reinterpret_cast<Cursor*>(cursor_.data());
    queue(training_, reinterpret_cast<const std::uint32_t*>(order_.data()), cursor, 0, options_.augment, images, labels);
    mezzo::run_once(executor_, Advance{cursor, count});
  }

  /// `count` test images from `first` on, as they are, in the first places of the batch.
  void test(std::size_t first, std::size_t, mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) {
    queue(test_, nullptr, nullptr, static_cast<std::uint32_t>(first), false, images, labels);
  }

  std::uint64_t bytes() const { return training_.records.size() + test_.records.size() + order_.size() + values_.size() + cursor_.size(); }

 private:
  struct Records {
    mezzo::Memory records;
    std::uint32_t size;
  };
  Records upload(const Dataset& data) const {
    Records records{mezzo::Memory(executor_, data.size() * record_bytes), static_cast<std::uint32_t>(data.size())};
    std::byte* to = records.records.data();
    for (const MappedFile& file : data.files()) {
      executor_.copy(to, file.bytes().data(), file.bytes().size());
      to += file.bytes().size();
    }
    return records;
  }

  void queue(const Records& data, const std::uint32_t* order, const Cursor* cursor, std::uint32_t first, bool augment,
             mezzo::Span<T> images, mezzo::Span<std::int32_t> labels) const {
    using Load = LoadPixel<T>;
    mezzo::for_each_index(executor_, labels.size() * side * side,
                          Load{.records = reinterpret_cast<const std::uint8_t*>(data.records.data()),
                               .size = data.size,
                               .order = order,
                               .cursor = cursor,
                               .first = first,
                               .values = reinterpret_cast<const T*>(values_.data()),
                               .augment = augment,
                               .seed = options_.seed,
                               .images = reinterpret_cast<typename Load::Pixel*>(images.data()),
                               .labels = labels.data()});
  }

  mezzo::CudaExecutor executor_;
  Options options_;
  Records training_, test_;
  mezzo::Memory order_, values_, cursor_;
  Pinned<std::uint32_t> next_order_;
  Pinned<Cursor> next_cursor_;
};

}  // namespace cifar10
