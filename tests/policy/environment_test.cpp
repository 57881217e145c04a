#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include <mezzo/policy/environment.hpp>

namespace {

constexpr const char* variable = "MEZZO_ENVIRONMENT_TEST";

bool enabled_by(const char* text) {
  setenv(variable, text, 1);
  return mezzo::enabled_from_environment(variable);
}

std::string refusal_of(const char* text) {
  try {
    enabled_by(text);
  } catch (const mezzo::InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("autocast is on where the variable is unset") {
  unsetenv(variable);
  CHECK(mezzo::enabled_from_environment(variable));
}
TEST_CASE("1, true, on and yes leave it on, 0, false, off and no switch it off, in capitals too") {
  for (const char* yes : {"1", "true", "on", "yes", "TRUE", "On"}) CHECK_MESSAGE(enabled_by(yes), yes);
  for (const char* no : {"0", "false", "off", "no", "OFF", "No"}) CHECK_MESSAGE(!enabled_by(no), no);
}
TEST_CASE("any other spelling is refused with the variable, the value and the caller's line") {
  for (const char* text : {"", "2", "-1", "enabled", " 1", "true ", "00"}) {
    const std::string message = refusal_of(text);
    CAPTURE(message);
    CHECK(message.find("MEZZO_ENVIRONMENT_TEST must be 1, true, on or yes, or 0, false, off or no, got \"" + std::string(text) + '"') !=
          std::string::npos);
    CHECK(message.rfind("environment_test.cpp:", 0) == 0);
  }
}
