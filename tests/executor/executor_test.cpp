#include <mezzo/executor/executor.hpp>

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

/// Writes down what it is asked for.
struct Log {
  std::string calls;
  int allocated = 0;
};
struct Recorder {
  Log* log = nullptr;
  int number = 0;
  void* allocate(std::size_t bytes, std::source_location where) const {
    log->calls += "allocate " + std::to_string(bytes) + " line " + std::to_string(where.line()) + ";";
    ++log->allocated;
    return log;
  }
  void deallocate(void* pointer, std::size_t bytes) const noexcept {
    log->calls += "deallocate " + std::to_string(bytes) + (pointer == log ? " same;" : " other;");
    --log->allocated;
  }
  void copy(void*, const void*, std::size_t bytes, std::source_location) const { log->calls += "copy " + std::to_string(bytes) + ";"; }
  void fill(void*, std::byte value, std::size_t bytes, std::source_location) const {
    log->calls += "fill " + std::to_string(static_cast<int>(value)) + " " + std::to_string(bytes) + ";";
  }
  void wait(std::source_location) const { log->calls += "wait;"; }
  bool accessible(const void* pointer) const { return pointer == log; }
};
static_assert(mezzo::Executor<Recorder>);

struct NotCopyable : Recorder {
  NotCopyable(const NotCopyable&) {}
};
static_assert(!mezzo::Executor<NotCopyable>, "an executor is copied byte by byte");
struct MayThrow : Recorder {
  void deallocate(void*, std::size_t) const {}
};
static_assert(!mezzo::Executor<MayThrow>, "deallocate is called from destructors");
static_assert(!mezzo::Executor<int>);
struct Large : Recorder {
  std::array<int, 8> more{};
};
static_assert(!std::is_constructible_v<mezzo::AnyExecutor, Large>, "what an erased executor cannot hold is refused");
static_assert(std::is_trivially_copyable_v<mezzo::AnyExecutor>);

TEST_CASE("an_erased_executor_passes_every_call_on_with_the_callers_line") {
  Log log;
  const mezzo::AnyExecutor any{Recorder{&log, 7}};
  const int allocated_at = __LINE__ + 1;
  void* const memory = any.allocate(24);
  any.copy(memory, &log, 3);
  any.fill(memory, std::byte{5}, 6);
  any.wait();
  CHECK(any.accessible(&log));
  CHECK_FALSE(any.accessible(nullptr));
  any.deallocate(memory, 24);
  CHECK(log.calls == "allocate 24 line " + std::to_string(allocated_at) + ";copy 3;fill 5 6;wait;deallocate 24 same;");
  CHECK(log.allocated == 0);
}

TEST_CASE("the_executor_comes_back_as_it_was_put_in") {
  Log log;
  const mezzo::AnyExecutor any{Recorder{&log, 7}};
  const mezzo::AnyExecutor copy = any;
  CHECK(copy.get<Recorder>().log == &log);
  CHECK(copy.get<Recorder>().number == 7);
}

struct Other : Recorder {};

TEST_CASE("kinds_of_executor_are_told_apart_by_their_type_not_their_value") {
  Log log;
  const mezzo::AnyExecutor a{Recorder{&log, 1}}, b{Recorder{&log, 2}}, c{Other{{&log, 1}}};
  CHECK(a.same_kind(b));
  CHECK_FALSE(a.same_kind(c));
}

}  // namespace
