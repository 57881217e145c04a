#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "types.hpp"

#include <mezzo/policy/cast_report.hpp>

using namespace mezzo;
using namespace mezzo::test;

namespace user {
struct my_norm {
  static constexpr std::string_view name = "my_norm";
  static constexpr CastRule rule = CastRule::float32;
};
}  // namespace user

using Policy = Autocast<float16>;

TEST_CASE("the report has every op with float16, bfloat16, float32 and float64 given") {
  const CastReport report = cast_report<Policy>();
  CHECK(report.rows.size() == all_ops::size * 4);
  const auto rows = report.of("matmul");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0] == CastReportRow{"matmul", CastRule::lower_precision, "float16", "float16", "float16", "float16", false});
  CHECK(rows[2] == CastReportRow{"matmul", CastRule::lower_precision, "float32", "float16", "float16", "float16", false});
  CHECK(rows[3] == CastReportRow{"matmul", CastRule::lower_precision, "float64", "float64", "float64", "float64", false});
  CHECK(report.of("softmax")[0] == CastReportRow{"softmax", CastRule::float32_output, "float16", "float16", "float32", "float32", false});
  CHECK(report.of("eq")[0] == CastReportRow{"eq", CastRule::promote, "float16", "float16", "float16", "bool", false});
  CHECK(report.of("no_such_op").empty());
}
TEST_CASE("overrides and regions show in the report") {
  using Tuned = Policy::with<op::softmax, CastRule::lower_precision>;
  CHECK(cast_report<Tuned, OpList<op::exp, op::softmax>>().of("softmax")[2] ==
        CastReportRow{"softmax", CastRule::lower_precision, "float32", "float16", "float16", "float16", false});
  CHECK(cast_report<Tuned::disabled, OpList<op::softmax>>().of("softmax")[2] ==
        CastReportRow{"softmax", CastRule::pass_through, "float32", "float32", "float32", "float32", false});
}
TEST_CASE("calls that do not compile are reported as refused") {
  const auto banned = cast_report<Policy, OpList<op::binary_cross_entropy>>().of("binary_cross_entropy");
  REQUIRE(banned.size() == 4);
  for (const CastReportRow& row : banned) CHECK((row.refused && row.rule == CastRule::banned && row.result.empty()));
  CHECK(!cast_report<Autocast<float>, OpList<op::binary_cross_entropy>>().of("binary_cross_entropy")[0].refused);
  const CastReport fp8 = cast_report<Autocast<float8_e4m3>, OpList<op::softmax, op::matmul>>();
  CHECK(fp8.of("softmax")[0].refused);
  CHECK(fp8.of("matmul")[0] == CastReportRow{"matmul", CastRule::lower_precision, "float16", "float8_e4m3", "float8_e4m3", "float32", false});
}
TEST_CASE("a user's ops are reported by listing them") {
  const CastReport report = cast_report<Policy, OpList<user::my_norm, op::exp>>();
  CHECK(report.rows.size() == 8);
  CHECK(report.of("my_norm")[0] == CastReportRow{"my_norm", CastRule::float32, "float16", "float32", "float32", "float32", false});
}
TEST_CASE("the text is a table with one line a row, in columns, and the stream's format stays") {
  const std::string text = cast_report<Policy, OpList<op::exp, op::binary_cross_entropy>>().text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 9);
  CHECK(text.find("op                    rule             given        read as      computed in  result\n") == 0);
  CHECK(text.find("exp                   float32          float16      float32      float32      float32\n") != std::string::npos);
  CHECK(text.find("binary_cross_entropy  banned           float32      refused") != std::string::npos);
}
