// All tags against what torch's autocast does with the same ops, as written down on a GPU (torch_table.py).
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "torch_table.hpp"

using namespace mezzo;
using namespace mezzo::test;
namespace table = mezzo::test::torch_table;

namespace {

using table::Cell;
using table::Line;

template <class... Names>
constexpr bool is_one_of(std::string_view op, Names... names) {
  return ((op == names) || ...);
}
constexpr bool is_mixed(int c) { return c >= table::half_single; }
constexpr bool has_half(int c) { return c != table::brain && c != table::single && c != table::wide && c != table::integer; }
constexpr bool has_brain(int c) { return c == table::brain || c == table::half_brain; }

/// Why mezzo differs from torch in the cells that `covers` picks; it is asked about cells that differ only.
struct Deviation {
  const char* reason;
  bool (*covers)(const Line&, int c, Cell torch, Cell mezzo);
};

constexpr Deviation deviations[] = {
  {"promote: torch raises an error wherever the 16-bit type that is not the policy's takes part; mezzo keeps a uniform one and "
   "promotes a mixture",
   [](const Line& line, int c, Cell torch, Cell) {
     return line.rule == CastRule::promote && torch == table::refused &&
            (line.region == table::bfloat16 ? has_half(c) : line.region == table::float16 && has_brain(c));
   }},
  {"integers alone: torch's kernel returns float32; no rule of autocast is at work, and mezzo leaves integers as they are",
   [](const Line& line, int c, Cell torch, Cell mezzo) {
     return line.of_result && c == table::integer && torch == table::float32 && mezzo == table::int64;
   }},
  {"a double beside other types: torch casts the others one by one, and some losses then return the first one's type; in mezzo a "
   "double leaves every argument as it is and the result is double",
   [](const Line& line, int c, Cell, Cell) { return c == table::half_wide && line.region != table::disabled && line.op != "rms_norm"; }},
  {"by ordinary type promotion: torch's kernel receives both types and promotes as it loads; mezzo promotes the arguments",
   [](const Line& line, int c, Cell torch, Cell mezzo) {
     return !line.of_result && line.rule == CastRule::promote && is_mixed(c) && torch == table::float16 && mezzo == table::float32;
   }},
  {"made of several ops in torch, each with its own rule: the first of them reads what is stored; the result is the same",
   [](const Line& line, int, Cell, Cell) {
     return !line.of_result && is_one_of(line.op, "normalize", "cross_entropy", "softmin", "kl_div", "poisson_nll_loss");
   }},
  {"rms_norm: torch's list names it, but torch 2.11 returns the first argument's type; mezzo follows the list",
   [](const Line& line, int, Cell, Cell) { return line.op == "rms_norm"; }},
  {"softmax: torch has a kernel that reads float16 and returns float32, and casts bfloat16 before; mezzo reads both as they are",
   [](const Line& line, int c, Cell torch, Cell mezzo) {
     return !line.of_result && is_one_of(line.op, "softmax", "log_softmax") && c == table::brain && torch == table::float32 &&
            mezzo == table::bfloat16;
   }},
  {"outside autocast torch's kernel decides what mixed types return, for these ops the first one's type; mezzo returns the widest",
   [](const Line& line, int c, Cell, Cell) {
     return line.of_result && line.region == table::disabled && is_mixed(c) &&
            is_one_of(line.op, "hinge_embedding_loss", "huber_loss", "soft_margin_loss", "batch_norm", "addmv",
                      "binary_cross_entropy_with_logits");
   }},
};
constexpr int deviation_count = sizeof(deviations) / sizeof(deviations[0]);

constexpr bool says_nothing(Cell torch) { return torch == table::cannot || torch == table::unary; }
constexpr bool differs(const Line& line, std::size_t c) { return !says_nothing(line.torch[c]) && line.torch[c] != line.mezzo[c]; }

constexpr int none = -1;

/// Index of the deviation that explains a cell that differs, or none.
constexpr int reason_for(const Line& line, std::size_t c) {
  for (int k = 0; k < deviation_count; ++k) {
    if (deviations[k].covers(line, static_cast<int>(c), line.torch[c], line.mezzo[c])) return k;
  }
  return none;
}

/// Whether every cell of the table is mezzo's too, or differs for a stated reason.
constexpr bool agrees() {
  for (const Line& line : table::lines) {
    for (std::size_t c = 0; c < table::case_count; ++c) {
      if (differs(line, c) && reason_for(line, c) == none) return false;
    }
  }
  return true;
}

static_assert(agrees(), "a type differs from torch's without a stated reason; compile without this line and the program says which");

const char* const cell_names[] = {"float16", "bfloat16", "float32", "float64", "int64", "boolean", "cannot", "refused", "unary", "disabled", "other"};
const char* const case_names[] = {"float16", "bfloat16", "float32", "float64", "int64", "float16+float32", "float32+float16",
                                  "float16+bfloat16", "float16+float64"};

}  // namespace

TEST_CASE("every op's types are torch's for every argument type and region, but for the stated deviations") {
  for (const Line& line : table::lines) {
    for (std::size_t c = 0; c < table::case_count; ++c) {
      if (!differs(line, c) || reason_for(line, c) != none) continue;
      FAIL_CHECK(line.op << " under " << cell_names[line.region] << ", arguments " << case_names[c]
                         << (line.of_result ? ": result " : ": first argument read as ") << cell_names[line.mezzo[c]] << ", torch "
                         << cell_names[line.torch[c]]);
    }
  }
}
TEST_CASE("every stated deviation is needed") {
  int covered[deviation_count] = {};
  for (const Line& line : table::lines) {
    for (std::size_t c = 0; c < table::case_count; ++c) {
      if (differs(line, c) && reason_for(line, c) != none) ++covered[reason_for(line, c)];
    }
  }
  for (int k = 0; k < deviation_count; ++k) CHECK_MESSAGE(covered[k] > 0, deviations[k].reason);
}
TEST_CASE("the table has every tag, and every tag is named as it is spelt") {
  std::set<std::string_view> seen;
  for (const Line& line : table::lines) {
    CHECK(line.op == line.tag);
    seen.insert(line.op);
  }
  CHECK(seen.size() == all_ops::size);
}
TEST_CASE("the table speaks for torch in most of its cells") {
  int stated = 0;
  for (const Line& line : table::lines) {
    for (const Cell cell : line.torch) stated += says_nothing(cell) ? 0 : 1;
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
