#pragma once
// The one place where mezzo reads the environment, and only when asked.

#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

#include <mezzo/core/error.hpp>

namespace mezzo {

/// Whether the environment variable `variable` leaves autocast on, for example `enabled_from_environment("MEZZO_AUTOCAST")`.
///
/// True when it is unset or reads 1, true, on or yes; false for 0, false, off or no; capitals do not matter. The answer is a
/// run-time value: choose between `Policy` and `Policy::disabled` with it once, where the program starts.
/// @throws InvalidArgument for any other text (an empty one too), naming the variable and its value.
[[nodiscard]] inline bool enabled_from_environment(
  const char* variable, const std::source_location& where = std::source_location::current()) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return true;
  std::string lower = text;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const std::string_view yes : {"1", "true", "on", "yes"}) {
    if (lower == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "off", "no"}) {
    if (lower == no) return false;
  }
  fail<InvalidArgument>(where, "enabled_from_environment",
    variable, " must be 1, true, on or yes, or 0, false, off or no, got \"", text, "\"");
}

}  // namespace mezzo
