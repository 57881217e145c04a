// What a runner computes, on every executor: the host's is the definition.
#include <mezzo/multi_tensor/host_runner.hpp>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "multi_tensor/support.hpp"
#include "support/executors.hpp"

// Named: nvcc loses types of an unnamed namespace that is nested, as the macros of doctest nest one.
namespace host_runner_test {

using mezzo::bfloat16;
using mezzo::convert;
using mezzo::float16;
using mezzo::to_bits;
using mezzo::test::bits_of;
using mezzo::test::Buffer;
using mezzo::test::PlacedTable;
using namespace mezzo::multi_tensor;
namespace exact = mezzo::exact;

// -- element-wise ---------------------------------------------------------------------------------------------------------

/// sum[i] += in[i] * factor(group); copy[i] = sum[i]. Counts its launches.
template <class T>
struct Accumulate {
  using kinds = Kinds<Columns<In<T>, InOut<float>, Out<T>>, Columns<In<float>, InOut<float>, Out<T>>>;
  std::uint32_t* launches;
  bool on;
  MEZZO_HOST_DEVICE bool enabled() const { return on; }
  MEZZO_HOST_DEVICE float scalars(std::uint32_t, std::uint32_t group) const { return static_cast<float>(group + 1); }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, float factor, float& in, float& sum, float& copy) const {
    sum = exact::fma(in, factor, sum);
    copy = sum;
    in = 0.f;  // must not be stored
  }
  MEZZO_HOST_DEVICE void finish() const { ++*launches; }
};

template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(convert<T>(static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 64.f));
  return values;
}

/// Spans of one list in an executor's memory, each at its own offset from alignment.
template <class E, class T>
struct List {
  std::vector<Buffer<T>> narrow, copy;
  std::vector<Buffer<float>> wide, sum;
  std::vector<Row<3>> rows;

  List(const E& executor, const std::vector<std::size_t>& sizes, std::size_t first_offset) {
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      const auto seed = static_cast<unsigned>(r);
      const std::size_t offset = (first_offset + r) % 8;
      narrow.emplace_back(executor, numbers<T>(sizes[r], seed), offset);
      wide.emplace_back(executor, numbers<float>(sizes[r], seed + 1), (offset + 3) % 8);
      sum.emplace_back(executor, numbers<float>(sizes[r], seed + 2), (offset * 5 + 1) % 8);
      copy.emplace_back(executor, numbers<T>(sizes[r], seed + 3), (first_offset * 3 + r) % 8);
      const bool is_wide = r % 3 == 1;
      rows.push_back({.columns = {is_wide ? static_cast<void*>(wide[r].data()) : narrow[r].data(), sum[r].data(), copy[r].data()},
                      .size = sizes[r], .kind = is_wide, .group = static_cast<std::uint32_t>(r % 4)});
      if (sizes[r] == 0) rows.back().columns[0] = rows.back().columns[1] = rows.back().columns[2] = nullptr;
    }
  }

  /// Compares with a plain loop; every buffer also checks the guard elements around it.
  void check(const std::vector<std::size_t>& sizes, bool ran) const {
    std::size_t differ = 0;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      const auto seed = static_cast<unsigned>(r);
      const auto inputs = numbers<T>(sizes[r], seed);
      const auto wide_inputs = numbers<float>(sizes[r], seed + 1);
      auto sums = numbers<float>(sizes[r], seed + 2);
      auto copies = numbers<T>(sizes[r], seed + 3);
      for (std::size_t i = 0; i < sizes[r] && ran; ++i) {
        const float x = r % 3 == 1 ? wide_inputs[i] : convert<float>(inputs[i]);
        sums[i] = x * static_cast<float>(r % 4 + 1) + sums[i];  // exact: small multiples of 1/64
        copies[i] = convert<T>(sums[i]);
      }
      differ += bits_of(narrow[r].read()) != bits_of(inputs);
      differ += bits_of(wide[r].read()) != bits_of(wide_inputs);
      differ += bits_of(sum[r].read()) != bits_of(sums);
      differ += bits_of(copy[r].read()) != bits_of(copies);
    }
    CHECK(differ == 0);
  }
};

template <class T, class E>
void check_list(const E& executor, const std::vector<std::size_t>& sizes, std::size_t offset, bool on = true) {
  CAPTURE(mezzo::element_traits<T>::name);
  CAPTURE(offset);
  CAPTURE(sizes.size());
  const List<E, T> list(executor, sizes, offset);
  const PlacedTable<3> table(executor, list.rows);
  const Buffer<std::uint32_t> launches(executor, 1);
  for_each_element(executor, table.view(), Accumulate<T>{launches.data(), on});
  list.check(sizes, on);
  CHECK(launches.read()[0] == 1);
}

TEST_CASE_TEMPLATE("lengths_0_to_17_at_offsets_0_to_7_equal_a_plain_loop", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size <= 17; ++size) sizes.push_back(size);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    check_list<float16>(executor, sizes, offset);
    check_list<bfloat16>(executor, sizes, offset);
    check_list<float>(executor, sizes, offset);
    check_list<mezzo::float8_e5m2>(executor, sizes, offset);
    check_list<mezzo::float8_e4m3>(executor, sizes, offset);
  }
}

TEST_CASE_TEMPLATE("lengths_around_warps_tiny_chunks_and_chunks_equal_a_plain_loop", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (std::size_t offset = 0; offset < 8; offset += 3) {
    check_list<float16>(executor, {31, 32, 33, 255, 256, 257, 511, 512, 513, 1023, 2049, 8191, 8192, 8193, 16384, 16385, 3 * 8192 + 511}, offset);
  }
  check_list<float>(executor, {8193, 1, 8191, 512, 513, 20000}, 5);
}

TEST_CASE_TEMPLATE("empty_spans_anywhere_leave_every_other_span_updated", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const auto& sizes : std::vector<std::vector<std::size_t>>{{}, {0}, {4, 0}, {0, 4}, {0, 0, 4, 0, 0}, std::vector<std::size_t>(1000, 0)}) {
    check_list<float16>(executor, sizes, 1);
  }
  std::vector<std::size_t> many(3000, 4);  // past any limit of one launch
  many.back() = 0;
  check_list<bfloat16>(executor, many, 0);
}

TEST_CASE_TEMPLATE("a_functor_that_is_off_touches_nothing_and_still_finishes", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_list<float16>(executor, {5, 0, 9000}, 2, false);
}

/// Adds one in double.
struct AddOne {
  using kinds = Kinds<Columns<InOut<double>, In<float16>>>;
  MEZZO_HOST_DEVICE bool enabled() const { return true; }
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, double& value, double& step) const { value = exact::add(value, step); }
  MEZZO_HOST_DEVICE void finish() const {}
};

TEST_CASE_TEMPLATE("double_columns_compute_in_double", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const std::vector<double> start(1001, 1e15);
  const Buffer<double> values(executor, start, 1);
  const Buffer<float16> steps(executor, std::vector<float16>(start.size(), convert<float16>(.25f)), 3);
  const PlacedTable<2> table(executor, {{.columns = {values.data(), steps.data()}, .size = start.size(), .kind = 0, .group = 0}});
  for_each_element(executor, table.view(), AddOne{});
  CHECK(values.read() == std::vector<double>(start.size(), 1e15 + .25));
}

// -- reducing --------------------------------------------------------------------------------------------------------------

/// Sums values, notes what is not finite.
template <class T, bool Sums>
struct Sum {
  using kinds = Kinds<Columns<In<T>>>;
  static constexpr bool sums = Sums;
  double* result;
  std::uint32_t* nonfinite;
  std::uint32_t* launches;
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, Partial& partial, float& value) const {
    partial.nonfinite |= !mezzo::is_finite(value);
    if constexpr (Sums) partial.sum = exact::add(partial.sum, exact::to_double(value));
  }
  MEZZO_HOST_DEVICE void report_nonfinite() const { *nonfinite = 1; }
  MEZZO_HOST_DEVICE void finish(double sum) const {
    *result = sum;
    ++*launches;
  }
};

struct Outcome {
  double sum;
  bool nonfinite;
  std::uint32_t launches;
};

template <bool Sums, class T, class E>
Outcome reduce_list(const E& executor, const std::vector<std::vector<T>>& values, std::size_t offset = 0, const PlanOptions& options = {}) {
  std::vector<Buffer<T>> buffers;
  std::vector<Row<1>> rows;
  for (std::size_t r = 0; r < values.size(); ++r) {
    buffers.emplace_back(executor, values[r], (offset + 3 * r) % 8);
    rows.push_back({.columns = {buffers.back().data()}, .size = values[r].size(), .kind = 0, .group = 0});
  }
  const PlacedTable<1> table(executor, rows, options);
  const Buffer<double> result(executor, std::vector{-1.});
  const Buffer<std::uint32_t> nonfinite(executor, 1), launches(executor, 1);
  reduce_elements(executor, table.view(), Sum<T, Sums>{result.data(), nonfinite.data(), launches.data()});
  for (std::size_t r = 0; r < values.size(); ++r) CHECK((bits_of(buffers[r].read()) == bits_of(values[r])));
  return {result.read()[0], nonfinite.read()[0] != 0, launches.read()[0]};
}

/// The documented tree, written as a recursion: lane i of `count` holds the sum of what falls to lanes i, i + count, ...
double folded(const std::vector<double>& lanes, std::size_t lane, std::size_t width) {
  return width == 32 ? lanes[lane] : folded(lanes, lane, 2 * width) + folded(lanes, lane + width, 2 * width);
}
double tree(const std::vector<double>& lanes) {
  double sum = 0;
  for (std::size_t warp = 0; warp < lanes.size(); warp += 32) {
    const double warp_total = folded({lanes.begin() + static_cast<std::ptrdiff_t>(warp), lanes.begin() + static_cast<std::ptrdiff_t>(warp + 32)}, 0, 1);
    sum = warp == 0 ? warp_total : sum + warp_total;
  }
  return sum;
}
/// A chunk's elements go to lanes by eights; chunks above 512 elements have 256 lanes, others 32.
template <class T>
double chunk_sum(const std::vector<T>& values, std::size_t begin, std::size_t length) {
  std::vector<double> lanes(length > 512 ? 256 : 32);
  for (std::size_t i = 0; i < length; ++i) lanes[i / 8 % lanes.size()] += static_cast<double>(convert<float>(values[begin + i]));
  return tree(lanes);
}
template <class T>
double documented_sum(const std::vector<std::vector<T>>& values) {
  std::vector<double> partials;
  for (const bool tiny : {false, true}) {
    for (const auto& row : values) {
      for (std::size_t begin = 0; begin < row.size(); begin += 8192) {
        const std::size_t length = std::min<std::size_t>(8192, row.size() - begin);
        if ((length <= 512) == tiny) partials.push_back(chunk_sum(row, begin, length));
      }
    }
  }
  std::vector<double> lanes(256);
  for (std::size_t c = 0; c < partials.size(); ++c) lanes[c % 256] += partials[c];
  return tree(lanes);
}

/// Values over more binades than a double has bits, where the type has them: the order of additions shows in the last bits.
template <class T>
std::vector<T> wild(std::size_t count, unsigned seed) {
  constexpr int binades = mezzo::element_traits<T>::exponent_bits == 8 ? 80 : 24;
  std::mt19937 random(seed);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    const float mantissa = static_cast<float>(static_cast<int>(random() % 2047) - 1023) / 1024.f;
    values.push_back(convert<T>(std::ldexp(mantissa, static_cast<int>(random() % binades) - binades / 2)));
  }
  return values;
}

template <class T, class E>
void check_sums(const E& executor) {
  CAPTURE(mezzo::element_traits<T>::name);
  std::vector<std::vector<T>> rows;
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 255U, 256U, 511U, 512U, 513U, 2048U, 2049U, 8191U, 8192U, 8193U, 100'000U, 3U, 0U}) {
    const std::vector<std::vector<T>> one{wild<T>(size, static_cast<unsigned>(size))};
    CAPTURE(size);
    CHECK(to_bits(reduce_list<true>(executor, one).sum) == to_bits(documented_sum(one)));
    rows.push_back(one[0]);
  }
  const Outcome outcome = reduce_list<true>(executor, rows);
  CHECK(to_bits(outcome.sum) == to_bits(documented_sum(rows)));
  CHECK_FALSE(outcome.nonfinite);
  CHECK(outcome.launches == 1);
  // The same again, and from other addresses.
  for (std::size_t offset = 0; offset < 8; ++offset) CHECK(to_bits(reduce_list<true>(executor, rows, offset).sum) == to_bits(outcome.sum));
}

TEST_CASE_TEMPLATE("a_sum_follows_the_documented_tree_wherever_the_spans_start", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_sums<float>(executor);
  check_sums<float16>(executor);
  check_sums<bfloat16>(executor);
}

TEST_CASE_TEMPLATE("a_sum_over_more_chunks_than_lanes_follows_the_tree", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  std::vector<std::vector<float>> rows;
  for (unsigned r = 0; r < 1000; ++r) rows.push_back(wild<float>(1 + r % 40, r));
  rows.push_back(wild<float>(8192 * 300, 1));
  CHECK(to_bits(reduce_list<true>(executor, rows).sum) == to_bits(documented_sum(rows)));
}

TEST_CASE_TEMPLATE("a_sum_over_nothing_is_zero_and_finishes", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const auto& rows : {std::vector<std::vector<float>>{}, std::vector<std::vector<float>>(3)}) {
    const Outcome outcome = reduce_list<true>(executor, rows);
    CHECK(to_bits(outcome.sum) == 0);
    CHECK(outcome.launches == 1);
    CHECK_FALSE(outcome.nonfinite);
  }
}

template <bool Sums, class T, class E>
void check_nonfinite(const E& executor) {
  CAPTURE(mezzo::element_traits<T>::name);
  const T infinity = convert<T>(mezzo::from_bits<float>(0x7f800000)), minus_infinity = convert<T>(mezzo::from_bits<float>(0xff800000));
  const T nan = mezzo::element_limits<T>::quiet_nan();
  const std::vector<std::vector<T>> clean{numbers<T>(9001, 1), {}, numbers<T>(77, 2)};
  CHECK_FALSE(reduce_list<Sums>(executor, clean).nonfinite);
  for (const T value : {infinity, minus_infinity, nan}) {
    for (const auto& [row, index] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {0, 8}, {0, 8191}, {0, 8192}, {0, 9000}, {2, 0}, {2, 41}, {2, 76}}) {
      auto rows = clean;
      rows[row][index] = value;
      CAPTURE(row);
      CAPTURE(index);
      CHECK(reduce_list<Sums>(executor, rows, 1).nonfinite);
    }
  }
  // Both infinities: found one by one, not from a sum.
  auto rows = clean;
  rows[0][3] = infinity;
  rows[0][4] = minus_infinity;
  CHECK(reduce_list<Sums>(executor, rows).nonfinite);
}

TEST_CASE_TEMPLATE("one_nonfinite_element_anywhere_is_reported", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  check_nonfinite<true, float>(executor);
  check_nonfinite<false, float>(executor);
  check_nonfinite<false, float16>(executor);
  check_nonfinite<false, bfloat16>(executor);
  check_nonfinite<false, mezzo::float8_e5m2>(executor);
}

TEST_CASE_TEMPLATE("the_largest_finite_values_are_not_reported", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const float largest = mezzo::element_limits<float>::largest();
  const Outcome outcome = reduce_list<true>(executor, std::vector<std::vector<float>>{{largest, largest, largest, -0.f, 0x1p-149f}});
  CHECK_FALSE(outcome.nonfinite);
  CHECK(outcome.sum == 3. * static_cast<double>(largest));  // 2^-149 vanishes beside it
}

// -- more elements than 32 bits count ------------------------------------------------------------------------------------------

/// Adds one to each element, so that an element visited twice or never shows; sums them up after.
struct CountVisit {
  using kinds = Kinds<Columns<InOut<mezzo::float8_e5m2>>>;
  MEZZO_HOST_DEVICE bool enabled() const { return true; }
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, float& visits) const { visits = exact::add(visits, 1.f); }
  MEZZO_HOST_DEVICE void finish() const {}
};

TEST_CASE_TEMPLATE("every_one_of_more_than_2_32_elements_is_visited_once" * doctest::test_suite("nightly"), E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  for (const std::uint64_t size : {(std::uint64_t{1} << 31) + 1, (std::uint64_t{1} << 32) + 3}) {
    CAPTURE(size);
    const mezzo::Memory memory(executor, size + 1);
    executor.fill(memory.data(), std::byte{0}, size + 1);
    const PlacedTable<1> table(executor, {{.columns = {memory.data()}, .size = size, .kind = 0, .group = 0}});
    for_each_element(executor, table.view(), CountVisit{});
    const Buffer<double> result(executor, std::vector{-1.});
    const Buffer<std::uint32_t> nonfinite(executor, 1), launches(executor, 1);
    reduce_elements(executor, table.view(), Sum<mezzo::float8_e5m2, true>{result.data(), nonfinite.data(), launches.data()});
    CHECK(result.read()[0] == static_cast<double>(size));
    const auto at = [&](std::uint64_t index) {
      std::uint8_t value = 0;
      executor.copy(&value, memory.data() + index, 1);
      executor.wait();
      return value;
    };
    for (const std::uint64_t index : {std::uint64_t{0}, (std::uint64_t{1} << 31) - 1, std::uint64_t{1} << 31, size - 1}) CHECK(at(index) == 0x3c);
    CHECK(at(size) == 0);
  }
}

}  // namespace host_runner_test
