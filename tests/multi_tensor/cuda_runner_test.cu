// What is CUDA's own about running a functor over a table: more work than fits the device, alignments, launches in a row.
#include <random>

#include <mezzo/mezzo.cuh>

#include "device/twin_bytes.cuh"
#include "support.hpp"

namespace {

using namespace mezzo;
using namespace mezzo::multi_tensor;
using namespace mezzo::test;

/// Two kinds of row with every element type among their columns.
struct Mix {
  using narrow_kind = Columns<In<float8_e4m3>, InOut<float16>, Out<bfloat16>, InOut<float>>;
  using wide_kind = Columns<InOut<double>, In<float16>, In<float8_e5m2>, Out<float>>;
  using kinds = Kinds<narrow_kind, wide_kind>;
  MEZZO_HOST_DEVICE bool enabled() const { return true; }
  MEZZO_HOST_DEVICE float scalars(std::uint32_t kind, std::uint32_t group) const { return static_cast<float>(1 + kind + 4 * group); }
  MEZZO_HOST_DEVICE void operator()(narrow_kind, float s, float& a, float& b, float& c, float& d) const {
    c = exact::add(a, d);
    d = exact::mul(exact::mul(d, b), s);
    b = exact::fma(a, .5f, b);
  }
  MEZZO_HOST_DEVICE void operator()(wide_kind, float s, double& a, double& b, double& c, double& d) const {
    d = exact::mul(a, b);
    a = exact::fma(c, exact::to_double(s), a);
  }
  MEZZO_HOST_DEVICE void finish() const {}
};

template <Element T>
std::size_t fill(TwinBytes& memory, std::size_t& used, std::uint64_t size, std::size_t offset, std::mt19937& random) {
  const std::size_t start = (used + 255) / 256 * 256 + 64 + offset * sizeof(T);
  used = start + size * sizeof(T) + 64;
  for (std::uint64_t i = 0; i < size; ++i) {
    const float value = std::ldexp(static_cast<float>(random() % 2001) * 1e-3f - 1.f, static_cast<int>(random() % 8) - 5);
    const T element = convert<T>(value);
    std::memcpy(memory.host() + start + i * sizeof(T), &element, sizeof(T));
  }
  return start;
}

TEST_CASE("every_column_type_at_every_mix_of_alignments_gets_the_hosts_bits") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  std::mt19937 random(5);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 0; size <= 40; ++size) sizes.insert(sizes.end(), 8, size);
  const PlanOptions options;
  for (const std::uint64_t size : {options.tiny_size - 1, options.tiny_size, options.tiny_size + 1, options.chunk_size - 1,
                                   options.chunk_size, options.chunk_size + 1, 3 * options.chunk_size + 11}) {
    sizes.insert(sizes.end(), 4, size);
  }
  std::shuffle(sizes.begin(), sizes.end(), random);

  TwinBytes memory(4'000'000);
  std::size_t used = 0;
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    // A third of the rows start in one phase, a third where some columns are aligned, the others anywhere.
    const std::size_t offset = random() % 16;
    const auto offset_of = [&](std::size_t c) { return i % 3 == 0 ? offset : i % 3 == 1 ? (offset + c % 2 * 4) % 16 : random() % 16; };
    if (i % 2 == 0) {
      starts.push_back(fill<float8_e4m3>(memory, used, sizes[i], offset_of(0), random));
      starts.push_back(fill<float16>(memory, used, sizes[i], offset_of(1), random));
      starts.push_back(fill<bfloat16>(memory, used, sizes[i], offset_of(2), random));
      starts.push_back(fill<float>(memory, used, sizes[i], offset_of(3), random));
    } else {
      starts.push_back(fill<double>(memory, used, sizes[i], offset_of(0), random));
      starts.push_back(fill<float16>(memory, used, sizes[i], offset_of(1), random));
      starts.push_back(fill<float8_e5m2>(memory, used, sizes[i], offset_of(2), random));
      starts.push_back(fill<float>(memory, used, sizes[i], offset_of(3), random));
    }
  }
  REQUIRE(used <= 4'000'000);
  memory.upload();
  const auto rows = [&](std::byte* base) {
    std::vector<Row<4>> all;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Row<4> row{.columns = {}, .size = sizes[i], .kind = static_cast<std::uint32_t>(i % 2), .group = static_cast<std::uint32_t>(i % 3)};
      for (std::size_t c = 0; c < 4; ++c) row.columns[c] = base + starts[4 * i + c];
      all.push_back(row);
    }
    return all;
  };
  const PlacedTable<4> on_host(HostExecutor{}, rows(memory.host())), on_device(executor, rows(memory.device()));
  for_each_element(HostExecutor{}, on_host.view(), Mix{});
  for_each_element(executor, on_device.view(), Mix{});
  executor.wait();
  CHECK(memory.same());  // guard bytes too
}

struct AddOne {
  using kinds = Kinds<Columns<InOut<float>>>;
  const int* on;
  unsigned* finished;
  MEZZO_HOST_DEVICE bool enabled() const { return *on != 0; }
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, float& value) const {
    value = exact::add(value, 1.f);
  }
  MEZZO_HOST_DEVICE void finish() const { ++*finished; }
};

struct CountOthers {
  const float* values;
  float wanted;
  unsigned* others;
  __device__ void operator()(std::uint64_t i) const {
    if (values[i] != wanted) atomicAdd(others, 1U);
  }
};

/// Spans that make more pieces of work than any device holds blocks at once: giants, and tens of thousands of tiny ones.
std::vector<std::uint64_t> much_work() {
  std::vector<std::uint64_t> sizes{40'000'003, 0, 17, 5'000'000};
  for (std::uint64_t i = 0; i < 40'000; ++i) sizes.push_back(i % 300);
  return sizes;
}

TEST_CASE("more_work_than_fits_the_device_at_once_is_done_once_in_every_launch") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const std::vector<std::uint64_t> sizes = much_work();
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) total += size;
  const DeviceArray<float> values(total);
  MEZZO_CUDA(cudaMemset(values.data(), 0, values.bytes()));
  std::vector<Row<1>> rows;
  for (std::uint64_t at = 0, i = 0; i < sizes.size(); at += sizes[i++]) rows.push_back({.columns = {values.data() + at}, .size = sizes[i], .kind = 0, .group = 0});
  const PlacedTable<1> table(executor, rows);
  const DeviceArray<int> on(std::vector<int>{1});
  const DeviceArray<unsigned> finished(std::vector<unsigned>{0}), others(std::vector<unsigned>{0});
  for (int launch = 1; launch <= 3; ++launch) {
    for_each_element(executor, table.view(), AddOne{on.data(), finished.data()});
    for_each_index(executor, total, CountOthers{values.data(), static_cast<float>(launch), others.data()});
    // A launch that is off comes between, and must leave nothing behind that the next one trips over.
    on.write({0});
    for_each_element(executor, table.view(), AddOne{on.data(), finished.data()});
    executor.wait();
    on.write({1});
    CHECK(others.read() == std::vector<unsigned>{0});
    CHECK(finished.read() == std::vector<unsigned>{2U * static_cast<unsigned>(launch)});
  }
}

struct SumSquares {
  using kinds = Kinds<Columns<In<float16>>>;
  static constexpr bool sums = true;
  double* sum;
  unsigned *finished, *nonfinite;
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, Partial& partial, float& value) const {
    const double wide = exact::to_double(value);
    partial.sum = exact::fma(wide, wide, partial.sum);
    partial.nonfinite |= !is_finite(value);
  }
  MEZZO_HOST_DEVICE void report_nonfinite() const { *nonfinite = 1; }
  MEZZO_HOST_DEVICE void finish(double total) const {
    *sum = total;
    ++*finished;
  }
};

TEST_CASE("a_sum_over_more_work_than_fits_the_device_has_the_hosts_bits_in_every_launch") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const std::vector<std::uint64_t> sizes = much_work();
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) total += size;
  std::mt19937 random(9);
  std::vector<float16> values(total);
  for (float16& value : values) value = from_bits<float16>(static_cast<std::uint16_t>(random() % 0x7800));  // positive, below 2^15
  const DeviceArray<float16> copy(values);
  const auto rows = [&](float16* base) {
    std::vector<Row<1>> all;
    for (std::uint64_t at = 0, i = 0; i < sizes.size(); at += sizes[i++]) all.push_back({.columns = {base + at}, .size = sizes[i], .kind = 0, .group = 0});
    return all;
  };
  const PlacedTable<1> on_host(HostExecutor{}, rows(values.data())), on_device(executor, rows(copy.data()));
  double wanted = 0;
  unsigned finished = 0, nonfinite = 0;
  reduce_elements(HostExecutor{}, on_host.view(), SumSquares{&wanted, &finished, &nonfinite});
  REQUIRE(wanted > 0);
  const DeviceArray<double> sum(std::vector<double>{0.});
  const DeviceArray<unsigned> counts(std::vector<unsigned>{0, 0});
  for (unsigned launch = 1; launch <= 3; ++launch) {
    reduce_elements(executor, on_device.view(), SumSquares{sum.data(), counts.data(), counts.data() + 1});
    executor.wait();
    CHECK(to_bits(sum.read()[0]) == to_bits(wanted));
    CHECK(counts.read() == std::vector<unsigned>{launch, 0});
  }
  // The very last element of the work: found by a block that has taken many pieces before.
  const float16 infinity = element_limits<float16>::infinity();
  MEZZO_CUDA(cudaMemcpy(copy.data() + total - 1, &infinity, sizeof(infinity), cudaMemcpyHostToDevice));
  reduce_elements(executor, on_device.view(), SumSquares{sum.data(), counts.data(), counts.data() + 1});
  executor.wait();
  CHECK(counts.read() == std::vector<unsigned>{4, 1});
}

TEST_CASE("many_launches_in_a_row_over_one_table_finish_once_each_with_the_same_sum") {
  MEZZO_NEEDS_DEVICE();
  const CudaExecutor executor{cudaStream_t{nullptr}};
  const DeviceArray<float16> values(std::vector<float16>(30'000, convert<float16>(3.f)));
  const PlacedTable<1> table(executor, {{.columns = {values.data()}, .size = 20'000, .kind = 0, .group = 0},
                                        {.columns = {nullptr}, .size = 0, .kind = 0, .group = 0},
                                        {.columns = {values.data() + 20'001}, .size = 33, .kind = 0, .group = 0},
                                        {.columns = {values.data() + 20'034}, .size = 9'966, .kind = 0, .group = 0}});
  constexpr unsigned launches = 200;
  const DeviceArray<double> sums{std::vector<double>(launches)};
  const DeviceArray<unsigned> counts(std::vector<unsigned>{0, 0});
  for (unsigned i = 0; i < launches; ++i) reduce_elements(executor, table.view(), SumSquares{sums.data() + i, counts.data(), counts.data() + 1});
  executor.wait();
  CHECK(sums.read() == std::vector<double>(launches, 9. * 29'999));
  CHECK(counts.read() == std::vector<unsigned>{launches, 0});
}

}  // namespace
