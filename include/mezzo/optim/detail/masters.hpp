#pragma once
// Pairs of model and master, and of master and model, for the conversions between the two.

#include <utility>
#include <vector>

#include <mezzo/multi_tensor/table.hpp>

namespace mezzo::detail {

struct Masters {
  multi_tensor::Table<2> widening, narrowing;

  /// @param rows {model, master} of each parameter that has both.
  void place(Arena& arena, std::vector<multi_tensor::Row<2>> rows) {
    widening = multi_tensor::Table<2>(rows);
    for (auto& row : rows) std::swap(row.columns[0], row.columns[1]);
    narrowing = multi_tensor::Table<2>(std::move(rows));
    widening.place(arena);
    narrowing.place(arena);
  }
  void upload(const AnyExecutor& executor, std::source_location where) const {
    widening.upload(executor, where);
    narrowing.upload(executor, where);
  }
};

}  // namespace mezzo::detail
