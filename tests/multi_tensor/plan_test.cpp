#include <mezzo/multi_tensor/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using mezzo::multi_tensor::Chunk;
using mezzo::multi_tensor::make_plan;
using mezzo::multi_tensor::Plan;
using mezzo::multi_tensor::PlanOptions;
using Sizes = std::vector<std::uint64_t>;

/// What is wrong with a plan, or nothing. Shares no arithmetic with the planner: chunks are put side by side and compared.
const char* fault_of(const Plan& plan, const Sizes& sizes, const PlanOptions& options) {
  static std::vector<std::vector<Chunk>> by_row;
  by_row.resize(std::max(by_row.size(), sizes.size()));
  for (std::size_t row = 0; row < sizes.size(); ++row) by_row[row].clear();
  for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
    const Chunk& chunk = plan.chunks[i];
    if (chunk.row >= sizes.size()) return "a chunk of no row";
    if (chunk.length == 0) return "an empty chunk";
    if (chunk.length > options.chunk_size) return "a chunk longer than chunk_size";
    if (chunk.begin % 8 != 0) return "a chunk that starts outside its span's alignment";
    if ((i < plan.long_chunks) != (chunk.length > options.tiny_size)) return "a chunk among those of the other kind";
    if (i != 0 && i != plan.long_chunks) {
      const Chunk& before = plan.chunks[i - 1];
      if (before.row > chunk.row || (before.row == chunk.row && before.begin >= chunk.begin)) return "chunks out of order";
    }
    by_row[chunk.row].push_back(chunk);
  }
  for (std::size_t row = 0; row < sizes.size(); ++row) {
    auto& chunks = by_row[row];
    std::sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) { return a.begin < b.begin; });
    std::uint64_t covered = 0;
    for (const Chunk& chunk : chunks) {
      if (chunk.begin != covered) return "a gap or an overlap";
      covered += chunk.length;
      if (covered != sizes[row] && chunk.length != options.chunk_size) return "a short chunk before the end of its span";
    }
    if (covered != sizes[row]) return "elements at the end of a span without a chunk";
  }
  // Deal the chunks out by hand.
  std::uint64_t blocks = 0;
  for (std::size_t i = 0; i < plan.chunks.size(); i += i < plan.long_chunks ? 1 : options.warps) ++blocks;
  return blocks == plan.block_count ? nullptr : "a wrong number of blocks";
}

/// All lists of length 0 to 6 over eight sizes, 299,593 of them.
void check_all_lists(const PlanOptions& options) {
  const std::uint64_t c = options.chunk_size;
  const Sizes choices{0, 1, 3, 4, 5, c - 1, c, c + 1};
  std::uint64_t lists = 0, faults = 0;
  Sizes sizes;
  for (std::size_t length = 0, count = 1; length <= 6; ++length, count *= choices.size()) {
    sizes.resize(length);
    for (std::size_t number = 0; number < count; ++number, ++lists) {
      std::size_t digits = number;
      for (auto& size : sizes) {
        size = choices[digits % choices.size()];
        digits /= choices.size();
      }
      if (const char* const fault = fault_of(make_plan(sizes, options), sizes, options); fault != nullptr && faults++ == 0) {
        CAPTURE(number);
        FAIL_CHECK("list of length " << length << ": " << fault);
      }
    }
  }
  CHECK(lists == 299'593);
  CHECK(faults == 0);
}

TEST_CASE("every_short_list_is_covered_exactly_once") { check_all_lists({}); }
TEST_CASE("every_short_list_is_covered_exactly_once_by_chunks_of_another_size") {
  check_all_lists({.chunk_size = 16, .tiny_size = 4, .warps = 3});
}
TEST_CASE("every_short_list_is_covered_exactly_once_where_all_chunks_are_tiny") {
  check_all_lists({.chunk_size = 512, .tiny_size = 512, .warps = 8});
}

TEST_CASE("a_million_random_lists_are_covered_exactly_once") {
  std::mt19937_64 random(3);
  std::uint64_t faults = 0, empty = 0, spans = 0;
  Sizes sizes;
  for (int list = 0; list < 1'000'000; ++list) {
    const PlanOptions options{.chunk_size = static_cast<std::uint32_t>(8 * (1 + random() % 1024)),
                              .tiny_size = static_cast<std::uint32_t>(random() % 2048),
                              .warps = static_cast<std::uint32_t>(1 + random() % 8)};
    sizes.resize(random() % 9);
    for (auto& size : sizes) {
      // 20 % empty; else any size up to three chunks, or one close to a whole number of chunks.
      const std::uint64_t kind = random() % 10;
      const std::uint64_t near = random() % 4 * options.chunk_size + random() % 3;
      size = kind < 2 ? 0 : kind < 7 ? random() % (3 * options.chunk_size) : near - std::min<std::uint64_t>(near, 1);
      empty += kind < 2;
    }
    spans += sizes.size();
    if (const char* const fault = fault_of(make_plan(sizes, options), sizes, options); fault != nullptr && faults++ == 0) {
      FAIL_CHECK("list " << list << ": " << fault);
    }
  }
  CHECK(faults == 0);
  CHECK(empty > spans / 6);
}

TEST_CASE("sizes_around_2_31_and_2_32_are_covered_exactly_once") {
  constexpr std::uint64_t two31 = std::uint64_t{1} << 31, two32 = std::uint64_t{1} << 32;
  for (const std::uint64_t size : {two31 - 1, two31, two31 + 1, two31 + 8, two32 - 1, two32, two32 + 1, two32 + 3}) {
    CAPTURE(size);
    const Sizes sizes{5, size, 0, 7};
    const Plan plan = make_plan(sizes);
    const char* const fault = fault_of(plan, sizes, {});
    CHECK_MESSAGE(fault == nullptr, fault);
    CHECK(plan.chunks.size() == (size + 8191) / 8192 + 2);
  }
}

TEST_CASE("one_giant_and_100000_tiny_spans_fill_few_blocks") {
  std::mt19937_64 random(4);
  Sizes sizes(100'001);
  for (auto& size : sizes) size = 1 + random() % 64;
  sizes[70'000] = (std::uint64_t{1} << 31) + 5;
  const Plan plan = make_plan(sizes);
  const char* const fault = fault_of(plan, sizes, {});
  CHECK_MESSAGE(fault == nullptr, fault);
  CHECK(plan.long_chunks == (std::uint64_t{1} << 31) / 8192);
  CHECK(plan.block_count == plan.long_chunks + (100'000 + 1 + 7) / 8);  // the giant's last 5 elements are a tiny chunk
}

TEST_CASE("lists_of_nothing_have_no_work") {
  for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes(1000, 0)}) {
    const Plan plan = make_plan(sizes);
    CHECK(plan.chunks.empty());
    CHECK(plan.block_count == 0);
  }
}

TEST_CASE("the_plan_of_a_list_is_known_by_hand") {
  const Sizes sizes{3, 0, 20, 16};
  const Plan plan = make_plan(sizes, {.chunk_size = 16, .tiny_size = 8, .warps = 2});
  CHECK((plan.chunks == std::vector<Chunk>{{0, 16, 2}, {0, 16, 3}, {0, 3, 0}, {16, 4, 2}}));
  CHECK(plan.long_chunks == 2);
  CHECK(plan.block_count == 3);
}

/// What a refused plan says, after the place.
std::string refusal(const Sizes& sizes, const PlanOptions& options = {}) {
  const std::uint32_t expected_line = __LINE__ + 2;
  try {
    make_plan(sizes, options);
  } catch (const mezzo::InvalidArgument& error) {
    const std::string text = error.what(), place = "plan_test.cpp:" + std::to_string(expected_line) + ": ";
    CHECK(text.starts_with(place));
    return text.substr(std::min(place.size(), text.size()));
  }
  return "not refused";
}

TEST_CASE("more_chunks_than_32_bits_count_are_refused_before_anything_is_allocated") {
  constexpr std::uint64_t two45 = std::uint64_t{1} << 45;  // 2^32 chunks of 8192
  CHECK(refusal({two45}) == "make_plan: at most 2^32 - 1 chunks; size of the span that passes it, got 35184372088832");
  CHECK(refusal({two45 - 8191}) == "make_plan: at most 2^32 - 1 chunks; size of the span that passes it, got 35184372080641");
  CHECK(refusal({two45 / 2, 8, two45 / 2}) == "make_plan: at most 2^32 - 1 chunks; size of the span that passes it, got 17592186044416");
  CHECK(refusal({~std::uint64_t{0}}) == "make_plan: at most 2^32 - 1 chunks; size of the span that passes it, got 18446744073709551615");
  CHECK(refusal({~std::uint64_t{0}, ~std::uint64_t{0}}, {.chunk_size = 0xfffffff8}) ==
        "make_plan: at most 2^32 - 1 chunks; size of the span that passes it, got 18446744073709551615");
}

TEST_CASE("lengths_that_cannot_cut_are_refused") {
  CHECK(refusal({1}, {.chunk_size = 0}) == "PlanOptions: chunk_size must be a positive multiple of 8, got 0");
  CHECK(refusal({1}, {.chunk_size = 12}) == "PlanOptions: chunk_size must be a positive multiple of 8, got 12");
  CHECK(refusal({}, {.warps = 0}) == "PlanOptions: warps must be positive, got 0");
}

}  // namespace
