// What a refusal says.
#pragma once

#include <string>
#include <typeinfo>

#include <doctest/doctest.h>

#include <mezzo/core/error.hpp>

namespace mezzo::test {

/// The message of the `Exception` that `f` throws, its place taken off when it is a line of `file`; the whole of it otherwise.
template <class Exception, class F>
std::string refusal(const char* file, F&& f) {
  try {
    f();
  } catch (const Exception& error) {
    std::string text = error.what();
    std::string name = file;
    if (const auto slash = name.find_last_of('/'); slash != std::string::npos) name.erase(0, slash + 1);
    if (!text.starts_with(name + ":")) return text;
    const auto colon = text.find(": ");
    return colon == std::string::npos ? text : text.substr(colon + 2);
  } catch (const std::exception& error) {
    return std::string("thrown as another type: ") + error.what();
  }
  return "not refused";
}

}  // namespace mezzo::test

/// The message of an exception that `...` throws, without its place, which must be a line of this file.
#define MEZZO_REFUSAL(Exception, ...) \
  (::mezzo::test::refusal<Exception>(__FILE__, [&] { static_cast<void>(__VA_ARGS__); }))
