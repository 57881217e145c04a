// What counts as an op tag.
#include <doctest/doctest.h>

#include <string_view>

#include <mezzo/policy/op_tag.hpp>

namespace user {

struct my_norm {
  static constexpr std::string_view name = "my_norm";
  static constexpr mezzo::CastRule rule = mezzo::CastRule::float32;
};
struct plain_name {
  static constexpr const char* name = "plain_name";
  static constexpr auto rule = mezzo::CastRule::promote;
};
struct no_rule {
  static constexpr const char* name = "no_rule";
};
struct no_name {
  static constexpr mezzo::CastRule rule = mezzo::CastRule::float32;
};
struct rule_is_a_number {
  static constexpr const char* name = "rule_is_a_number";
  static constexpr int rule = 1;
};

}  // namespace user

TEST_CASE("a tag is any type with a name and a rule, in any namespace") {
  static_assert(mezzo::OpTag<user::my_norm> && mezzo::OpTag<user::plain_name>);
}
TEST_CASE("a type without a name, without a rule or with a rule of another type is no tag") {
  static_assert(!mezzo::OpTag<user::no_rule> && !mezzo::OpTag<user::no_name> && !mezzo::OpTag<user::rule_is_a_number>);
  static_assert(!mezzo::OpTag<int> && !mezzo::OpTag<mezzo::CastRule>);
}
TEST_CASE("lists of tags are joined in order") {
  using Joined = mezzo::joined_ops_t<mezzo::OpList<user::my_norm>, mezzo::OpList<>, mezzo::OpList<user::plain_name>>;
  static_assert(std::is_same_v<Joined, mezzo::OpList<user::my_norm, user::plain_name>> && Joined::size == 2);
}
