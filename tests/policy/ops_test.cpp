// All tags against what torch's autocast does with the same ops, as written down on a GPU (torch_table.py).
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "torch_table.hpp"

using namespace mezzo;
using namespace mezzo::test;
namespace table = mezzo::test::torch_table;

namespace {

/// Why mezzo differs from torch, with the cells that the reason covers.
struct Deviation {
  const char* reason;
  bool (*covers)(const table::Line&, int, table::Cell torch, table::Cell mezzo);
};

constexpr Deviation deviations[] = {
  {"promote: torch raises an error for the 16-bit type that is not the policy's; mezzo keeps a uniform one and promotes a mixture to float",
   [](const table::Line& line, int c, table::Cell torch, table::Cell) {
     return line.rule == CastRule::promote && torch == table::refused && (c == table::half || c == table::brain || c == table::half_brain);
   }},
};
constexpr int deviation_count = sizeof(deviations) / sizeof(deviations[0]);

constexpr int none = -1;

/// Index of the deviation that covers this cell, or none.
constexpr int covered_by(const table::Line& line, int c) {
  for (int k = 0; k < deviation_count; ++k) {
    if (deviations[k].covers(line, c, line.torch[static_cast<std::size_t>(c)], line.mezzo[static_cast<std::size_t>(c)])) return k;
  }
  return none;
}

constexpr bool says_nothing(table::Cell torch) { return torch == table::cannot || torch == table::unary; }

/// Number of the table's first cell that differs without a reason; none if there is no such cell.
constexpr int first_unexplained() {
  int n = 0;
  for (const table::Line& line : table::lines) {
    for (std::size_t c = 0; c < table::case_count; ++c, ++n) {
      if (!says_nothing(line.torch[c]) && line.torch[c] != line.mezzo[c] && covered_by(line, static_cast<int>(c)) == none) return n;
    }
  }
  return none;
}

static_assert(first_unexplained() == none, "a type differs from torch's without a reason; the test program says which");

const char* const cell_names[] = {"float16", "bfloat16", "float32", "float64", "int64", "boolean", "cannot", "refused", "unary", "disabled", "other"};
const char* const case_names[] = {"float16", "bfloat16", "float32", "float64", "int64", "float16+float32", "float32+float16",
                                  "float16+bfloat16", "float16+float64"};

}  // namespace

TEST_CASE("every op's types are torch's for every argument type and region, but for the stated deviations") {
  for (const table::Line& line : table::lines) {
    for (std::size_t c = 0; c < table::case_count; ++c) {
      if (says_nothing(line.torch[c]) || covered_by(line, static_cast<int>(c)) != none) continue;
      CAPTURE(line.op);
      CAPTURE(cell_names[line.region]);
      CAPTURE(case_names[c]);
      CAPTURE(line.of_result);
      CHECK(std::string(cell_names[line.mezzo[c]]) == cell_names[line.torch[c]]);
    }
  }
}
TEST_CASE("every stated deviation is one: it covers cells, and all of them differ") {
  int covered[deviation_count] = {};
  for (const table::Line& line : table::lines) {
    for (int c = 0; c < table::case_count; ++c) {
      const int k = covered_by(line, c);
      if (k == none) continue;
      ++covered[k];
      CAPTURE(line.op);
      CAPTURE(deviations[k].reason);
      CHECK(line.torch[static_cast<std::size_t>(c)] != line.mezzo[static_cast<std::size_t>(c)]);
    }
  }
  for (int k = 0; k < deviation_count; ++k) {
    CAPTURE(deviations[k].reason);
    CHECK(covered[k] > 0);
  }
}
TEST_CASE("the table has every tag, and every tag is named as it is spelt") {
  std::set<std::string_view> seen;
  for (const table::Line& line : table::lines) {
    CHECK(line.op == line.tag);
    seen.insert(line.op);
  }
  CHECK(seen.size() == all_ops::size);
}
TEST_CASE("the table speaks for torch in most of its cells") {
  int stated = 0;
  for (const table::Line& line : table::lines) {
    for (const table::Cell cell : line.torch) stated += says_nothing(cell) ? 0 : 1;
  }
  CHECK(stated > 3000);
}

namespace {

template <class List>
struct Overridden;
template <class... Ops>
struct Overridden<OpList<Ops...>> {
  template <CastRule Rule, class Given, class Read, class Compute, class Result>
  static constexpr bool are = (call_is<with_t<Autocast<float16>, Ops, Rule>, Ops, Given, Read, Compute,
                                 std::conditional_t<requires { typename Ops::result_type; }, bool, Result>> && ...);
};
using All = Overridden<all_ops>;
using h = float16;
using f = float;
using d = double;
using i = int;

}  // namespace

TEST_CASE("an override gives any op any rule, for every type of argument") {
  static_assert(All::are<CastRule::lower_precision, List<f>, List<h>, h, h>);
  static_assert(All::are<CastRule::lower_precision, List<h, f>, List<h, h>, h, h>);
  static_assert(All::are<CastRule::lower_precision, List<bfloat16>, List<h>, h, h>);
  static_assert(All::are<CastRule::lower_precision, List<d, h>, List<d, h>, d, d>);
  static_assert(All::are<CastRule::float32, List<h>, List<f>, f, f>);
  static_assert(All::are<CastRule::float32, List<bfloat16, i>, List<f, i>, f, f>);
  static_assert(All::are<CastRule::float32_output, List<h, f>, List<h, f>, f, f>);
  static_assert(All::are<CastRule::float32_output, List<i>, List<i>, i, i>);
  static_assert(All::are<CastRule::promote, List<h, f>, List<f, f>, f, f>);
  static_assert(All::are<CastRule::promote, List<h, h>, List<h, h>, h, h>);
  static_assert(All::are<CastRule::pass_through, List<h, f>, List<h, f>, f, h>);
}
