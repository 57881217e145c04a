#include <doctest/doctest.h>

#include <string>

#include "types.hpp"

#include <mezzo/policy/dispatch.hpp>

using namespace mezzo;
using namespace mezzo::test;

namespace {

constexpr PolicyChoices<Autocast<float>, Autocast<float16>, Autocast<bfloat16>, Autocast<float16>::disabled> precisions{
  "float32", "float16", "bfloat16", "off"};

std::string low_type_of(std::string_view name) {
  return precisions.dispatch(name, []<class Policy>(Policy) {
    return std::string(element_traits<typename Policy::low_type>::name) + (Policy::is_enabled ? "" : " disabled");
  });
}

}  // namespace

TEST_CASE("the named policy is called") {
  CHECK(low_type_of("float32") == "float32");
  CHECK(low_type_of("float16") == "float16");
  CHECK(low_type_of("bfloat16") == "bfloat16");
  CHECK(low_type_of("off") == "float16 disabled");
}
TEST_CASE("only the named policy is called, once") {
  int calls = 0;
  precisions.dispatch("bfloat16", [&]<class Policy>(Policy) { calls += same<typename Policy::low_type, bfloat16> ? 1 : 100; });
  CHECK(calls == 1);
}
TEST_CASE("an unknown name is refused with all choices, the name and the caller's line") {
  for (const char* name : {"fp16", "", "Float16", "float16 "}) {
    std::string message;
    try {
      low_type_of(name);
    } catch (const InvalidArgument& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find("choose one of float32, float16, bfloat16, off, got \"" + std::string(name) + '"') != std::string::npos);
    CHECK(message.rfind("dispatch_test.cpp:", 0) == 0);
  }
}
TEST_CASE("the names are at hand for help texts") {
  static_assert(precisions.names().size() == 4 && precisions.names()[2] == "bfloat16");
}
TEST_CASE("two equal names or an empty one are refused") {
  using Two = PolicyChoices<Autocast<float>, Autocast<float16>>;
  CHECK_THROWS_AS(Two("a", "a"), InvalidArgument);
  CHECK_THROWS_AS(Two("a", ""), InvalidArgument);
  CHECK_NOTHROW(Two("a", "b"));
}
