#pragma once
// The table of spans and chunks that a launch reads: built once, kept in the executor's memory.

#include <vector>

#include <mezzo/executor/memory.hpp>
#include <mezzo/multi_tensor/plan.hpp>

namespace mezzo::multi_tensor {

/// One row: spans of one length that are walked together (a parameter's gradient, model copy, master and moments).
template <int N>
struct Row {
  void* columns[N];     ///< first element of each span; unused ones null
  std::uint64_t size;   ///< elements of every span of the row
  std::uint32_t kind;   ///< index into the functor's Kinds: the element types of the columns
  std::uint32_t group;  ///< the functor's own number for rows that share scalars (a parameter group)
};

/// What a runner needs, as a plain value; all pointers are into the executor's memory.
template <int N>
struct TableView {
  const Row<N>* rows;
  const Chunk* chunks;
  double* partials;       ///< one a chunk: its share of a sum
  std::uint32_t* ticket;  ///< counts finished blocks of threads; 0 between launches
  std::uint32_t* next;    ///< counts begun blocks of work; 0 between launches
  std::uint32_t chunk_count;
  std::uint32_t long_chunks;  ///< the first chunks take a block each, the others a warp each
  std::uint32_t block_count;
};

/// Rows and their plan, with everything a launch reads already in place.
template <int N>
class Table {
 public:
  Table() = default;
  /// Plans the rows; nothing is allocated until `place`.
  explicit Table(std::vector<Row<N>> rows, const PlanOptions& options = {},
                 std::source_location where = std::source_location::current())
      : rows_(std::move(rows)) {
    constexpr std::uint32_t warps = block_lanes / warp_lanes;
    require(options.warps == warps, where, "Table", "runners have 8 warps in a block, so warps must be 8", options.warps);
    std::vector<std::uint64_t> sizes;
    sizes.reserve(rows_.size());
    for (const auto& row : rows_) sizes.push_back(row.size);
    plan_ = make_plan(sizes, options, where);
  }

  /// Takes the table's pieces from `arena`: measures them, or places them when the arena has memory.
  void place(Arena& arena) {
    view_ = {.rows = arena.take<Row<N>>(rows_.size(), 16),
             .chunks = arena.take<Chunk>(plan_.chunks.size(), 16),
             .partials = arena.take<double>(plan_.chunks.size(), 16),
             .ticket = arena.take<std::uint32_t>(1, 128),
             .next = arena.take<std::uint32_t>(1, 128),
             .chunk_count = static_cast<std::uint32_t>(plan_.chunks.size()),
             .long_chunks = plan_.long_chunks,
             .block_count = plan_.block_count};
  }

  /// Writes the placed table. The copies read this object's memory, so it must stay until the executor has done them.
  void upload(const AnyExecutor& executor, std::source_location where = std::source_location::current()) const {
    copy(executor, view_.rows, rows_, where);
    copy(executor, view_.chunks, plan_.chunks, where);
    executor.fill(view_.ticket, std::byte{0}, sizeof(std::uint32_t), where);
    executor.fill(view_.next, std::byte{0}, sizeof(std::uint32_t), where);
  }

  [[nodiscard]] std::vector<Row<N>>& rows() noexcept { return rows_; }
  [[nodiscard]] const std::vector<Row<N>>& rows() const noexcept { return rows_; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const TableView<N>& view() const noexcept { return view_; }

 private:
  template <class T>
  static void copy(const AnyExecutor& executor, const T* to, const std::vector<T>& from, std::source_location where) {
    if (!from.empty()) executor.copy(const_cast<T*>(to), from.data(), from.size() * sizeof(T), where);
  }

  std::vector<Row<N>> rows_;
  Plan plan_;
  TableView<N> view_{};
};

}  // namespace mezzo::multi_tensor
