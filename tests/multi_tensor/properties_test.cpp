#include <mezzo/multi_tensor/host_runner.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "multi_tensor/support.hpp"
#include <rapidcheck.h>

#include "support/property.hpp"

namespace {

using namespace mezzo::multi_tensor;
using mezzo::HostExecutor;
using mezzo::test::holds_for_all;
using mezzo::test::PlacedTable;

std::vector<std::uint64_t> any_sizes() {
  return *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::weightedOneOf<std::uint64_t>(
      {{1, rc::gen::just<std::uint64_t>(0)}, {4, rc::gen::inRange<std::uint64_t>(0, 100)}}));
}
PlanOptions any_options() {
  return {.chunk_size = 8 * *rc::gen::inRange<std::uint32_t>(1, 6), .tiny_size = *rc::gen::inRange<std::uint32_t>(0, 50), .warps = *rc::gen::inRange<std::uint32_t>(1, 9)};
}

/// For tables, whose runners have a fixed number of warps.
PlanOptions any_lengths() {
  return {.chunk_size = 8 * *rc::gen::inRange<std::uint32_t>(1, 6), .tiny_size = *rc::gen::inRange<std::uint32_t>(0, 50)};
}

TEST_CASE("a_plan_covers_every_element_exactly_once") {
  holds_for_all([] {
    const auto sizes = any_sizes();
    std::vector<std::vector<int>> visits;
    for (const auto size : sizes) visits.emplace_back(size);
    for (const Chunk& chunk : make_plan(sizes, any_options()).chunks) {
      for (std::uint64_t i = 0; i < chunk.length; ++i) ++visits.at(chunk.row).at(chunk.begin + i);
    }
    for (const auto& row : visits) RC_ASSERT(std::all_of(row.begin(), row.end(), [](int count) { return count == 1; }));
  });
}

TEST_CASE("an_empty_span_anywhere_changes_no_chunk_but_the_number_of_its_row") {
  holds_for_all([] {
    auto sizes = any_sizes();
    const PlanOptions options = any_options();
    const Plan before = make_plan(sizes, options);
    const auto at = *rc::gen::inRange<std::size_t>(0, sizes.size() + 1);
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), 0);
    Plan after = make_plan(sizes, options);
    for (Chunk& chunk : after.chunks) chunk.row -= chunk.row > at;
    RC_ASSERT(after.chunks == before.chunks);
    RC_ASSERT(after.block_count == before.block_count);
  });
}

/// value = value * 2 + 1, and a sum with a check.
struct Grow {
  using kinds = Kinds<Columns<InOut<float>>>;
  bool enabled() const { return true; }
  int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  void operator()(Kind, int, float& value) const {
    value = mezzo::exact::fma(value, 2.f, 1.f);
  }
  void finish() const {}
};
struct Total {
  using kinds = Kinds<Columns<In<float>>>;
  static constexpr bool sums = true;
  double* sum;
  bool* nonfinite;
  int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  void operator()(Kind, int, Partial& partial, float& value) const {
    partial.nonfinite |= !mezzo::is_finite(value);
    partial.sum = mezzo::exact::add(partial.sum, mezzo::exact::to_double(value));
  }
  void report_nonfinite() const { *nonfinite = true; }
  void finish(double total) const { *sum = total; }
};

/// Rows over one array, cut where `sizes` says.
std::vector<Row<1>> rows_over(std::vector<float>& values, const std::vector<std::uint64_t>& sizes) {
  std::vector<Row<1>> rows;
  std::uint64_t at = 0;
  for (const auto size : sizes) {
    rows.push_back({.columns = {values.data() + at}, .size = size, .kind = 0, .group = 0});
    at += size;
  }
  return rows;
}
std::vector<float> small_integers(std::uint64_t count) {
  return *rc::gen::container<std::vector<float>>(count, rc::gen::map(rc::gen::inRange(-50, 50), [](int i) { return static_cast<float>(i); }));
}
std::uint64_t total(const std::vector<std::uint64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); }

TEST_CASE("an_element_wise_functor_gives_the_same_wherever_spans_are_cut") {
  holds_for_all([] {
    const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 12));
    auto cut = small_integers(total(sizes));
    auto whole = cut;
    for_each_element(HostExecutor{}, PlacedTable<1>(HostExecutor{}, rows_over(cut, sizes), any_lengths()).view(), Grow{});
    for_each_element(HostExecutor{}, PlacedTable<1>(HostExecutor{}, rows_over(whole, {whole.size()})).view(), Grow{});
    RC_ASSERT(cut == whole);
  });
}

TEST_CASE("sums_of_small_integers_are_exact_however_spans_are_cut") {
  holds_for_all([] {
    const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 12));
    auto values = small_integers(total(sizes));
    double sum = -1;
    bool nonfinite = false;
    reduce_elements(HostExecutor{}, PlacedTable<1>(HostExecutor{}, rows_over(values, sizes), any_lengths()).view(), Total{&sum, &nonfinite});
    RC_ASSERT(sum == std::accumulate(values.begin(), values.end(), 0.));
    RC_ASSERT(!nonfinite);
  });
}

TEST_CASE("a_nonfinite_element_is_reported_if_and_only_if_there_is_one") {
  holds_for_all([] {
    const auto sizes = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 12));
    auto values = small_integers(total(sizes));
    const auto pattern = *rc::gen::element(0x7f800000U, 0xff800000U, 0x7fc00000U, 0xff800001U, 0x7f7fffffU, 0xff7fffffU);
    if (!values.empty()) values[*rc::gen::inRange<std::size_t>(0, values.size())] = mezzo::from_bits<float>(pattern);
    const bool expected = !std::all_of(values.begin(), values.end(), [](float x) { return mezzo::is_finite(x); });
    double sum = 0;
    bool nonfinite = false;
    reduce_elements(HostExecutor{}, PlacedTable<1>(HostExecutor{}, rows_over(values, sizes), any_lengths()).view(), Total{&sum, &nonfinite});
    RC_ASSERT(nonfinite == expected);
  });
}

}  // namespace
