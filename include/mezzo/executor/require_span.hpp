#pragma once
// What every span must be before work on it is queued: a fault in a kernel would take the whole context with it.

#include <cstdint>
#include <string_view>

#include <mezzo/core/error.hpp>
#include <mezzo/executor/executor.hpp>

namespace mezzo {

/// Refuses a span that is null with elements in it, not aligned to its elements, or not memory that the executor's work
/// may use. An empty span passes, whatever its pointer.
/// @param name  what the message calls it: `parameter 3 ("conv1"): gradient`.
/// @throws InvalidArgument.
inline void require_span(const AnyExecutor& executor, std::source_location where, std::string_view place, std::string_view name,
                         const void* data, std::size_t size, std::size_t alignment) {
  if (size == 0) return;
  if (data == nullptr) fail<InvalidArgument>(where, place, name, " is null with ", size, " elements");
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) {
    fail<InvalidArgument>(where, place, name, " must be aligned to ", alignment, " bytes, got address ", data);
  }
  if (!executor.accessible(data)) {
    fail<InvalidArgument>(where, place, name, " must be memory of the executor's device, got address ", data);
  }
}

/// Refuses two spans that share memory, unless they are one and the same.
inline void require_same_or_apart(std::source_location where, std::string_view place, std::string_view names, const void* a,
                                  std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  if (a_bytes == 0 || b_bytes == 0) return;
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  const bool same = first == second && a_bytes == b_bytes;
  const bool apart = first + a_bytes <= second || second + b_bytes <= first;
  if (!same && !apart) fail<InvalidArgument>(where, place, names, " must be the same memory or must not overlap, got ", a, " and ", b);
}

}  // namespace mezzo
