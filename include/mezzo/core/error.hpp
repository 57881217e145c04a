#pragma once
// Run-time refusals: one line with place, name, rule and value, thrown as a typed exception.

#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <mezzo/core/host_device.hpp>

namespace mezzo {

/// Base of every exception that mezzo throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument breaks a rule; nothing was queued or written and the object is as it was.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A call came in the wrong order (unscale twice, step twice before update); nothing was queued.
class StateError : public Error {
 public:
  using Error::Error;
};

/// The executor has no memory left for an allocation; nothing is leaked.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A CUDA call failed; the message names the call and says whether work queued earlier caused it.
class CudaError : public Error {
 public:
  using Error::Error;
};

/// Receives the message where exceptions are off (`-fno-exceptions`); must not return.
using ErrorHandler = void (*)(const char* message);

namespace detail {

[[noreturn]] inline void print_and_abort(const char* message) {
  std::fprintf(stderr, "%s\n", message);
  std::abort();
}

inline ErrorHandler& error_handler() {
  static ErrorHandler handler = &print_and_abort;
  return handler;
}

template <class Exception>
[[noreturn]] void raise(const std::string& message) {
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
  throw Exception(message);
#else
  error_handler()(message.c_str());
  std::abort();
#endif
}

/// `train.cu:14: ` with the folders left out.
inline std::string place(const std::source_location& where) {
  std::string_view file = where.file_name();
  if (const auto slash = file.find_last_of("/\\"); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(where.line()) + ": ";
}

}  // namespace detail

/// Replaces the handler that receives messages where exceptions are off; returns the one before. A null handler restores
/// the default, which prints the message and aborts.
inline ErrorHandler set_error_handler(ErrorHandler handler) noexcept {
  const ErrorHandler before = detail::error_handler();
  detail::error_handler() = handler != nullptr ? handler : &detail::print_and_abort;
  return before;
}

/// Throws `Exception` with the message `file:line: name: rule`. The parts of `rule` are streamed one after the other.
template <std::derived_from<Error> Exception, class... Parts>
[[noreturn]] void fail(const std::source_location& where, std::string_view name, const Parts&... rule) {
  std::ostringstream text;
  text << detail::place(where) << name << ": ";
  (text << ... << rule);
  detail::raise<Exception>(text.str());
}

/// Throws InvalidArgument unless `holds`: `file:line: name: rule, got value`.
template <class Value>
void require(bool holds, const std::source_location& where, std::string_view name, std::string_view rule, const Value& value) {
  if (!holds) fail<InvalidArgument>(where, name, rule, ", got ", value);
}

}  // namespace mezzo
