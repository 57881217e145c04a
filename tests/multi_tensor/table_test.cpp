#include <mezzo/multi_tensor/table.hpp>

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include <mezzo/executor/host.hpp>

namespace {

using namespace mezzo::multi_tensor;

std::vector<Row<2>> rows(std::vector<float>& a, std::vector<float>& b, std::size_t count) {
  std::vector<Row<2>> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back({.columns = {a.data() + i, b.data() + i}, .size = 1 + i * 600, .kind = static_cast<std::uint32_t>(i % 2), .group = static_cast<std::uint32_t>(i)});
  }
  return list;
}

TEST_CASE("a_placed_table_holds_rows_and_chunks_and_cleared_counters") {
  std::vector<float> a(10), b(10);
  Table<2> table(rows(a, b, 5), {.chunk_size = 1024});
  mezzo::Arena measure;
  table.place(measure);
  CHECK(table.view().rows == nullptr);

  const mezzo::HostExecutor executor;
  const mezzo::Memory memory(executor, measure.bytes());
  std::memset(memory.data(), 0xff, memory.size());
  mezzo::Arena arena(memory.data());
  table.place(arena);
  CHECK(arena.bytes() == measure.bytes());
  table.upload(executor);

  const TableView<2>& view = table.view();
  REQUIRE(view.chunk_count == table.plan().chunks.size());
  CHECK(view.chunk_count == 1 + 1 + 2 + 2 + 3);  // sizes 1, 601, 1201, 1801, 2401
  CHECK(view.long_chunks == table.plan().long_chunks);
  CHECK(view.block_count == table.plan().block_count);
  for (std::uint32_t c = 0; c < view.chunk_count; ++c) CHECK((view.chunks[c] == table.plan().chunks[c]));
  for (std::size_t r = 0; r < 5; ++r) {
    CHECK(view.rows[r].columns[0] == a.data() + r);
    CHECK(view.rows[r].columns[1] == b.data() + r);
    CHECK(view.rows[r].size == 1 + r * 600);
    CHECK(view.rows[r].kind == r % 2);
    CHECK(view.rows[r].group == r);
  }
  CHECK(*view.ticket == 0);
  CHECK(*view.next == 0);
  // No piece reaches past the block.
  CHECK(reinterpret_cast<std::byte*>(view.partials + view.chunk_count) <= memory.data() + memory.size());
  CHECK(reinterpret_cast<std::byte*>(view.next + 1) <= memory.data() + memory.size());
}

TEST_CASE("an_empty_table_can_be_placed_and_written") {
  Table<2> table(std::vector<Row<2>>{});
  mezzo::Arena measure;
  table.place(measure);
  const mezzo::Memory memory(mezzo::HostExecutor{}, measure.bytes());
  mezzo::Arena arena(memory.data());
  table.place(arena);
  table.upload(mezzo::HostExecutor{});
  CHECK(table.view().chunk_count == 0);
  CHECK(table.view().block_count == 0);
}

}  // namespace
