#include <doctest/doctest.h>

#include <string_view>

#include <mezzo/policy/cast_rule.hpp>

TEST_CASE("each rule is named by its enumerator") {
  using mezzo::CastRule;
  using mezzo::name_of;
  static_assert(std::string_view(name_of(CastRule::lower_precision)) == "lower_precision");
  static_assert(std::string_view(name_of(CastRule::float32)) == "float32");
  static_assert(std::string_view(name_of(CastRule::float32_output)) == "float32_output");
  static_assert(std::string_view(name_of(CastRule::promote)) == "promote");
  static_assert(std::string_view(name_of(CastRule::pass_through)) == "pass_through");
  static_assert(std::string_view(name_of(CastRule::banned)) == "banned");
  CHECK(std::string_view(name_of(static_cast<CastRule>(99))) == "unknown");
}
