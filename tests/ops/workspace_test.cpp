#include <mezzo/ops/workspace.hpp>

#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mezzo/executor/host.hpp>

namespace {

static_assert(!std::is_copy_constructible_v<mezzo::Workspace<mezzo::HostExecutor>>);
static_assert(std::is_nothrow_move_constructible_v<mezzo::Workspace<mezzo::HostExecutor>>);

/// Counts blocks and calls.
struct Ledger {
  int live = 0;
  int calls = 0;
};
struct Counting {
  Ledger* ledger = nullptr;
  void* allocate(std::size_t bytes, std::source_location) const {
    ++ledger->calls;
    ++ledger->live;
    return ::operator new(bytes);
  }
  void deallocate(void* pointer, std::size_t) const noexcept {
    --ledger->live;
    ::operator delete(pointer);
  }
  void copy(void*, const void*, std::size_t, std::source_location) const {}
  void fill(void*, std::byte, std::size_t, std::source_location) const {}
  void wait(std::source_location) const {}
  bool accessible(const void*) const { return true; }
};

TEST_CASE("allocates_once_at_construction_and_gives_the_memory_back") {
  Ledger ledger;
  {
    mezzo::Workspace workspace{Counting{&ledger}, 64};
    CHECK(ledger.calls == 1);
    CHECK(workspace.bytes() == 64);
    CHECK(workspace.scratch(64, "op", std::source_location::current()) != nullptr);
    CHECK(workspace.scratch(1, "op", std::source_location::current()) == workspace.scratch(64, "op", std::source_location::current()));
    mezzo::Workspace moved{std::move(workspace)};
    CHECK(moved.bytes() == 64);
    CHECK(ledger.calls == 1);
  }
  CHECK(ledger.live == 0);
}

TEST_CASE("uses_lent_memory_and_allocates_none") {
  Ledger ledger;
  alignas(64) std::array<std::byte, 128> memory{};
  {
    mezzo::Workspace workspace{Counting{&ledger}, mezzo::Span<std::byte>(memory.data(), memory.size())};
    CHECK(workspace.bytes() == 128);
    CHECK(workspace.scratch(128, "op", std::source_location::current()) == memory.data());
  }
  CHECK(ledger.calls == 0);
}

TEST_CASE("refuses_lent_memory_that_is_not_aligned_at_the_users_line") {
  alignas(64) std::array<std::byte, 192> memory{};
  const auto refusal = [&](std::size_t offset, std::size_t bytes) -> std::string {
    try {
      const mezzo::Workspace workspace{mezzo::HostExecutor{}, mezzo::Span<std::byte>(memory.data() + offset, bytes)};
    } catch (const mezzo::InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(0, 128) == "");
  CHECK(refusal(64, 128) == "");
  CHECK(refusal(8, 128).find("workspace_test.cpp:") == 0);
  CHECK(refusal(8, 128).ends_with("Workspace: lent memory must be aligned to 64 bytes, got 8"));
  CHECK(refusal(96, 1).ends_with("Workspace: lent memory must be aligned to 64 bytes, got 32"));
  CHECK(refusal(8, 0) == "");  // none is lent
  try {
    const mezzo::Workspace workspace{mezzo::HostExecutor{}, mezzo::Span<std::byte>(static_cast<std::byte*>(nullptr), 100)};
    FAIL("not refused");
  } catch (const mezzo::InvalidArgument& error) {
    CHECK(std::string(error.what()).ends_with("Workspace: lent memory of 100 bytes must not be null"));
  }
  const mezzo::Workspace empty{mezzo::HostExecutor{}, mezzo::Span<std::byte>{}};
  CHECK(empty.bytes() == 0);
}

TEST_CASE("names_the_op_and_both_sizes_when_it_is_too_small") {
  const mezzo::Workspace workspace{mezzo::HostExecutor{}, 100};
  try {
    (void)workspace.scratch(101, "conv2d", std::source_location::current());
    FAIL("not refused");
  } catch (const mezzo::InvalidArgument& error) {
    const std::string text = error.what();
    CHECK(text.find("workspace_test.cpp:") == 0);
    CHECK(text.ends_with("conv2d: the workspace is too small: this shape needs 101 bytes, got 100"));
  }
}

TEST_CASE("keeps_one_state_of_each_type_and_ends_it_with_itself") {
  static int alive = 0;
  struct Handle {
    explicit Handle(int given) : value(given) { ++alive; }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { --alive; }
    int value;
  };
  struct Plans {
    std::vector<int> made;
  };
  {
    mezzo::Workspace workspace{mezzo::HostExecutor{}, 0};
    Handle& handle = workspace.kept<Handle>(3);
    CHECK(&workspace.kept<Handle>(4) == &handle);
    CHECK(handle.value == 3);
    workspace.kept<Plans>().made.push_back(7);
    CHECK(workspace.kept<Plans>().made == std::vector<int>{7});
    mezzo::Workspace moved{std::move(workspace)};
    CHECK(&moved.kept<Handle>(5) == &handle);
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}

}  // namespace
