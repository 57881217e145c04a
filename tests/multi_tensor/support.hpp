// A table with its memory, for tests that run functors.
#pragma once

#include <mezzo/multi_tensor/table.hpp>

#include <utility>
#include <vector>

namespace mezzo::test {

template <int N>
class PlacedTable {
 public:
  template <Executor E>
  PlacedTable(const E& executor, std::vector<multi_tensor::Row<N>> rows, const multi_tensor::PlanOptions& options = {})
      : table_(std::move(rows), options) {
    Arena measure;
    table_.place(measure);
    memory_ = Memory(executor, measure.bytes());
    Arena arena(memory_.data());
    table_.place(arena);
    table_.upload(executor);
    executor.wait();
  }
  [[nodiscard]] const multi_tensor::TableView<N>& view() const { return table_.view(); }
  [[nodiscard]] const multi_tensor::Plan& plan() const { return table_.plan(); }

 private:
  multi_tensor::Table<N> table_;
  Memory memory_;
};

}  // namespace mezzo::test
