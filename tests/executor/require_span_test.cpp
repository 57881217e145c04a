#include <mezzo/executor/require_span.hpp>

#include <cstdint>

#include "executor/counting.hpp"
#include "support/message.hpp"

namespace {

using mezzo::InvalidArgument;
using mezzo::require_same_or_apart;
using mezzo::require_span;
constexpr auto here = [](std::source_location where = std::source_location::current()) { return where; };

TEST_CASE("a_span_that_no_work_may_use_is_refused") {
  counting::Ledger ledger;
  const mezzo::AnyExecutor executor{counting::Executor{&ledger}};
  alignas(16) char memory[32] = {};
  const auto check = [&](const void* data, std::size_t size, std::size_t alignment) { require_span(executor, here(), "place", "span", data, size, alignment); };
  CHECK_NOTHROW(check(memory, 4, 8));
  CHECK_NOTHROW(check(nullptr, 0, 8));
  CHECK_NOTHROW(check(memory + 1, 0, 8));  // an empty span passes, whatever its pointer
  CHECK(MEZZO_REFUSAL(InvalidArgument, check(nullptr, 3, 8)) == "place: span is null with 3 elements");
  CHECK(MEZZO_REFUSAL(InvalidArgument, check(memory + 4, 3, 8)).starts_with("place: span must be aligned to 8 bytes, got address 0x"));
  CHECK_NOTHROW(check(memory + 4, 3, 4));
  ledger.refuse = true;
  CHECK(MEZZO_REFUSAL(InvalidArgument, check(memory, 3, 8)).starts_with("place: span must be memory of the executor's device, got address 0x"));
  CHECK_NOTHROW(check(memory, 0, 8));
}

TEST_CASE("two_spans_are_one_and_the_same_or_apart") {
  char memory[32] = {};
  const auto check = [&](std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
    require_same_or_apart(here(), "place", "a and b", memory + a, a_bytes, memory + b, b_bytes);
  };
  CHECK_NOTHROW(check(0, 8, 0, 8));
  CHECK_NOTHROW(check(0, 8, 8, 8));
  CHECK_NOTHROW(check(8, 8, 0, 8));
  CHECK_NOTHROW(check(4, 0, 0, 8));
  const std::string refused = "place: a and b must be the same memory or must not overlap, got 0x";
  CHECK(MEZZO_REFUSAL(InvalidArgument, check(0, 8, 7, 8)).starts_with(refused));
  CHECK(MEZZO_REFUSAL(InvalidArgument, check(7, 8, 0, 8)).starts_with(refused));
  CHECK(MEZZO_REFUSAL(InvalidArgument, check(0, 8, 0, 4)).starts_with(refused));  // one start, another type
  CHECK(MEZZO_REFUSAL(InvalidArgument, check(2, 2, 0, 8)).starts_with(refused));
}

}  // namespace
