#include <mezzo/executor/memory.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mezzo/executor/host.hpp>

namespace {

/// Counts blocks; refuses the allocations after `left`.
struct Ledger {
  int live = 0;
  int left = 1000;
  std::size_t bytes = 0;
};
struct Counting {
  Ledger* ledger = nullptr;
  void* allocate(std::size_t bytes, std::source_location where) const {
    if (ledger->left-- == 0) mezzo::fail<mezzo::OutOfMemory>(where, "Counting", "none left");
    ++ledger->live;
    ledger->bytes += bytes;
    return ::operator new(bytes);
  }
  void deallocate(void* pointer, std::size_t bytes) const noexcept {
    --ledger->live;
    ledger->bytes -= bytes;
    ::operator delete(pointer);
  }
  void copy(void*, const void*, std::size_t, std::source_location) const {}
  void fill(void*, std::byte, std::size_t, std::source_location) const {}
  void wait(std::source_location) const {}
  bool accessible(const void*) const { return true; }
};

TEST_CASE("owned_memory_is_given_back_once_whatever_moves") {
  Ledger ledger;
  {
    mezzo::Memory a(Counting{&ledger}, 24);
    CHECK(ledger.live == 1);
    CHECK(a.size() == 24);
    mezzo::Memory b(std::move(a));
    CHECK(a.data() == nullptr);
    CHECK(a.size() == 0);
    mezzo::Memory c(Counting{&ledger}, 8);
    CHECK(ledger.live == 2);
    c = std::move(b);
    CHECK(ledger.live == 1);
    CHECK(c.size() == 24);
    mezzo::Memory& same = c;
    c = std::move(same);
    CHECK(c.size() == 24);
    CHECK(ledger.live == 1);
    c = mezzo::Memory();
    CHECK(ledger.live == 0);
  }
  CHECK(ledger.live == 0);
  CHECK(ledger.bytes == 0);
}

TEST_CASE("lent_memory_is_never_given_back") {
  Ledger ledger;
  std::array<std::byte, 16> lent{};
  {
    mezzo::Memory memory(Counting{&ledger}, mezzo::Span<std::byte>(lent.data(), lent.size()));
    CHECK(memory.data() == lent.data());
    CHECK(memory.size() == 16);
    const mezzo::Memory moved(std::move(memory));
    CHECK(moved.data() == lent.data());
  }
  CHECK(ledger.live == 0);
}

TEST_CASE("a_failed_allocation_leaves_nothing_behind") {
  Ledger ledger{.left = 0};
  CHECK_THROWS_AS(mezzo::Memory(Counting{&ledger}, 24), mezzo::OutOfMemory);
  CHECK(ledger.live == 0);
}

TEST_CASE("an_arena_measures_what_it_then_places") {
  const auto lay_out = [](mezzo::Arena& arena) {
    return std::array<void*, 4>{arena.take<char>(3), arena.take<double>(2), arena.take<char>(1, 64), arena.take<float>(5, 64, 12)};
  };
  mezzo::Arena measure;
  CHECK(lay_out(measure) == std::array<void*, 4>{});
  // 3 chars to 3; doubles from 8 to 24; a char at 64; floats from 128 + 12.
  CHECK(measure.bytes() == 128 + 12 + 5 * sizeof(float));

  const mezzo::Memory memory(mezzo::HostExecutor{}, measure.bytes());
  mezzo::Arena arena(memory.data());
  const auto pieces = lay_out(arena);
  CHECK(arena.bytes() == measure.bytes());
  const std::array<std::size_t, 4> offsets{0, 8, 64, 140};
  for (std::size_t i = 0; i < pieces.size(); ++i) CHECK(pieces[i] == memory.data() + offsets[i]);
}

TEST_CASE("pieces_never_overlap_and_keep_alignment_and_phase") {
  const mezzo::Memory memory(mezzo::HostExecutor{}, 1 << 16);
  mezzo::Arena arena(memory.data());
  std::uintptr_t end = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t count = i * 7 % 23, phase = i % 8 * sizeof(float);
    const auto begin = reinterpret_cast<std::uintptr_t>(arena.take<float>(count, 64, phase));
    CHECK(begin % 64 == phase);
    CHECK(begin >= end);
    end = begin + count * sizeof(float);
  }
  CHECK(arena.bytes() == end - reinterpret_cast<std::uintptr_t>(memory.data()));
}

}  // namespace
