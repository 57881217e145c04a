// More than 2^31 and 2^32 elements, and a device that is full. Runs alone: it takes most of the device's memory.
#include <algorithm>
#include <cmath>

#include <mezzo/mezzo.cuh>

#include "device/device.cuh"

namespace {

using namespace mezzo;
using namespace mezzo::test;

using Optimizer = MasterOptimizer<Sgd, float16, NoMaster, float16>;

// Values that depend on the whole index: 2^31 and 2^32 are no multiples of 5 or 7. All sums and differences are exact.
MEZZO_HOST_DEVICE float weight_at(std::uint64_t i) { return 1.f + static_cast<float>(i % 7) * .125f; }
MEZZO_HOST_DEVICE float gradient_at(std::uint64_t i) { return static_cast<float>(i % 5) * .25f - .5f; }
constexpr float scale = 1024.f;
constexpr std::uint64_t two31 = std::uint64_t{1} << 31, two32 = std::uint64_t{1} << 32;

struct Fill {
  float16 *weights, *gradients;
  MEZZO_HOST_DEVICE void operator()(std::uint64_t i) const {
    weights[i] = convert<float16>(weight_at(i));
    gradients[i] = convert<float16>(gradient_at(i) * scale);
  }
};

/// Counts elements that are not what they should be: weights after `steps` steps with lr 1, gradients, unscaled gradients.
struct CountWrong {
  const float16 *weights, *gradients;
  const float* unscaled;
  bool stepped, zeroed;
  unsigned long long* wrong;  // [3]
  __device__ void operator()(std::uint64_t i) const {
    const float weight = stepped ? weight_at(i) - gradient_at(i) : weight_at(i);
    const float gradient = zeroed ? 0.f : gradient_at(i) * scale;
    if (convert<float>(weights[i]) != weight) atomicAdd(wrong, 1ULL);
    if (convert<float>(gradients[i]) != gradient) atomicAdd(wrong + 1, 1ULL);
    if (unscaled != nullptr && unscaled[i] != gradient_at(i)) atomicAdd(wrong + 2, 1ULL);
  }
};

template <class T>
T at(const DeviceArray<T>& array, std::uint64_t i) {
  T value;
  MEZZO_CUDA(cudaMemcpy(&value, array.data() + i, sizeof(T), cudaMemcpyDeviceToHost));
  return value;
}
template <class T>
void put(const DeviceArray<T>& array, std::uint64_t i, T value) {
  MEZZO_CUDA(cudaMemcpy(array.data() + i, &value, sizeof(T), cudaMemcpyHostToDevice));
}

TEST_CASE("more_than_2_to_the_31_and_32_elements_are_all_checked_updated_unscaled_and_zeroed") {
  MEZZO_NEEDS_DEVICE();
  for (const std::uint64_t size : {two31 - 1, two31 + 8, two32 + 3}) {
    CAPTURE(size);
    std::size_t free = 0, total = 0;
    MEZZO_CUDA(cudaMemGetInfo(&free, &total));
    if (free < size * 10 + two31 / 2) MEZZO_SKIP("the device has too little free memory");
    const CudaExecutor executor{cudaStream_t{nullptr}};
    constexpr std::uint64_t guard = 64;
    const DeviceArray<float16> weights(size + guard), gradients(size + guard);
    const DeviceArray<float> unscaled(size);
    MEZZO_CUDA(cudaMemset(weights.data() + size, 0x5a, guard * sizeof(float16)));
    MEZZO_CUDA(cudaMemset(gradients.data() + size, 0x5a, guard * sizeof(float16)));
    for_each_index(executor, size, Fill{weights.data(), gradients.data()});

    StaticLossScaler<scale> scaler{executor};
    Optimizer optimizer{executor, {{weights.span().first(size), gradients.span().first(size)}}, Sgd::Options{.lr = 1.f}};
    const auto expect = [&](bool with_unscaled, bool stepped, bool zeroed) {
      const DeviceArray<unsigned long long> wrong(std::vector<unsigned long long>(3));
      for_each_index(executor, size,
                     CountWrong{weights.data(), gradients.data(), with_unscaled ? unscaled.data() : nullptr, stepped, zeroed, wrong.data()});
      executor.wait();
      CHECK(wrong.read() == std::vector<unsigned long long>(3));
      for (const std::uint64_t i : {std::uint64_t{0}, two31 - 2, two31 - 1, two31, two31 + 7, two32 - 1, two32, two32 + 2, size - 1}) {
        if (i >= size) continue;
        CHECK(convert<float>(at(weights, i)) == (stepped ? weight_at(i) - gradient_at(i) : weight_at(i)));
        CHECK(convert<float>(at(gradients, i)) == (zeroed ? 0.f : gradient_at(i) * scale));
        if (with_unscaled) CHECK(at(unscaled, i) == gradient_at(i));
      }
    };
    expect(false, false, false);

    // A value that is not finite stops the step wherever it stands.
    for (const std::uint64_t i : {size - 1, std::min(size - 1, two31), std::uint64_t{0}}) {
      put(gradients, i, element_limits<float16>::infinity());
      scaler.step(optimizer);
      scaler.update();
      executor.wait();
      put(gradients, i, convert<float16>(gradient_at(i) * scale));
    }
    CHECK(scaler.state().skipped_steps == 3);
    expect(false, false, false);

    scaler.unscale(gradients.span().first(size), unscaled);
    scaler.unscale(optimizer);
    scaler.step(optimizer);
    scaler.update();
    CHECK(scaler.state().applied_steps == 1);
    // Squares are multiples of 1/16 and their sum is below 2^53 of them: exact in any order.
    double sum = 0;
    for (std::uint64_t i = 0; i < 5; ++i) {
      const double gradient = static_cast<double>(gradient_at(i));
      sum += gradient * gradient * static_cast<double>(size / 5 + (i < size % 5 ? 1 : 0));
    }
    CHECK(optimizer.state().gradient_norm == std::sqrt(sum));
    expect(true, true, false);
    optimizer.zero_grad();
    expect(false, true, true);
    for (std::uint64_t i = size; i < size + guard; ++i) {
      CHECK(to_bits(at(weights, i)) == 0x5a5a);
      CHECK(to_bits(at(gradients, i)) == 0x5a5a);
    }
  }
}

TEST_CASE("on_a_full_device_building_an_optimizer_is_out_of_memory_and_works_once_there_is_room") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  constexpr std::size_t size = 64 << 20;  // 128 MiB of moments
  const DeviceArray<float16> weights(size), gradients(size);
  executor.wait();
  std::vector<void*> hog;
  for (std::size_t bytes = std::size_t{64} << 30; bytes >= (std::size_t{1} << 20);) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) {
      hog.push_back(memory);
    } else {
      static_cast<void>(cudaGetLastError());
      bytes /= 2;
    }
  }
  const auto build = [&] { Optimizer optimizer{executor, {{weights, gradients}}, Sgd::Options{}}; };
  CHECK_THROWS_AS(build(), OutOfMemory);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK_THROWS_AS(build(), OutOfMemory);
  for (void* const memory : hog) MEZZO_CUDA(cudaFree(memory));
  build();
}

}  // namespace
