#pragma once
// Matrix products on the host: the system's CBLAS, with 16-bit operands widened block by block into scratch.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>
#include <string_view>

#include <mezzo/executor/host.hpp>
#include <mezzo/executor/memory.hpp>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/cblas.hpp>
#include <mezzo/ops/host/detail/rows.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/lower_precision.hpp>

#if MEZZO_HAS_CBLAS

namespace mezzo::detail {

namespace host {

/// Blocks of a product of A, B and C, and the scratch for those operands that are not in the type of the sum.
template <class A, class B, class C>
class BlockedGemm {
 public:
  using Sum = accumulation_t<A, B, C>;

  BlockedGemm(const GemmShape& shape, std::byte* memory) : shape_(shape) {
    Arena arena(memory);
    const auto take = [&](bool needed, std::int64_t rows, std::int64_t columns) {
      return arena.take<Sum>(needed ? static_cast<std::size_t>(rows * columns) : 0, 64);
    };
    a_ = take(!same<A>, (std::min)(shape.m, block_m), (std::min)(shape.k, block_k));
    b_ = take(!same<B>, (std::min)(shape.k, block_k), (std::min)(shape.n, block_n));
    c_ = take(!same<C>, (std::min)(shape.m, block_m), (std::min)(shape.n, block_n));
    bytes_ = arena.bytes();
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// C = A B, plus bias[n] in each row where there is one, plus C itself where asked for; rounded once.
  template <class Bias>
  void run(const A* a, const B* b, const Bias* bias, C* c, Accumulate accumulate) const {
    // In its own type C is a block by itself: CBLAS then cuts it as it likes.
    const std::int64_t step_m = whole ? (std::max<std::int64_t>)(shape_.m, 1) : block_m;
    const std::int64_t step_n = whole ? (std::max<std::int64_t>)(shape_.n, 1) : block_n;
    for (std::int64_t m = 0; m < shape_.m; m += step_m) {
      for (std::int64_t n = 0; n < shape_.n; n += step_n) {
        run_block(a, b, bias, c, accumulate, m, (std::min)(step_m, shape_.m - m), n, (std::min)(step_n, shape_.n - n));
      }
    }
  }

 private:
  static constexpr std::int64_t block_m = 256;
  static constexpr std::int64_t block_n = 512;
  static constexpr std::int64_t block_k = 512;
  template <class T>
  static constexpr bool same = std::is_same_v<T, Sum>;
  static constexpr bool whole = same<A> && same<B> && same<C>;

  template <class Bias>
  void run_block(const A* a, const B* b, const Bias* bias, C* c, Accumulate accumulate, std::int64_t m, std::int64_t rows,
                 std::int64_t n, std::int64_t columns) const {
    const bool add = accumulate == Accumulate::yes;
    Sum* sum = c_;
    std::int64_t sum_row = columns;
    if constexpr (same<C>) sum = c + m * shape_.n + n, sum_row = shape_.n;
    bool started = same<C> && add;
    if (bias != nullptr || shape_.k == 0) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = 0; i < columns; ++i) {
          const Sum value = bias != nullptr ? convert<Sum>(bias[n + i]) : Sum{0};
          sum[r * sum_row + i] = started ? sum[r * sum_row + i] + value : value;
        }
      }
      started = true;
    }
    const std::int64_t step_k = whole ? (std::max<std::int64_t>)(shape_.k, 1) : block_k;
    for (std::int64_t k = 0; k < shape_.k; k += step_k) {
      const std::int64_t depth = (std::min)(step_k, shape_.k - k);
      const auto [left, left_row] = operand(a, a_, shape_.transpose_a, shape_.m, shape_.k, m, k, rows, depth);
      const auto [right, right_row] = operand(b, b_, shape_.transpose_b, shape_.k, shape_.n, k, n, depth, columns);
      gemm({rows, columns, depth, shape_.transpose_a, shape_.transpose_b}, left, left_row, right, right_row,
           started ? Sum{1} : Sum{0}, sum, sum_row);
      started = true;
    }
    if constexpr (!same<C>) {
      for (std::int64_t r = 0; r < rows; ++r) store_row(sum + r * sum_row, c + (m + r) * shape_.n + n, columns, accumulate);
    }
  }

  struct Operand {
    const Sum* data;
    std::int64_t row;
  };

  /// Rows [row, row + rows) and columns [column, column + columns) of a matrix, as CBLAS wants them.
  template <class T>
  static Operand operand(const T* matrix, [[maybe_unused]] Sum* scratch, Transpose transpose, std::int64_t all_rows, std::int64_t all_columns,
                         std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
    if (transpose == Transpose::yes) std::swap(all_rows, all_columns), std::swap(row, column), std::swap(rows, columns);
    const T* const from = matrix + row * all_columns + column;
    if constexpr (same<T>) {
      return {from, all_columns};
    } else {
      for (std::int64_t r = 0; r < rows; ++r) widen_row(from + r * all_columns, scratch + r * columns, columns);
      return {scratch, columns};
    }
  }

  GemmShape shape_;
  Sum* a_ = nullptr;
  Sum* b_ = nullptr;
  Sum* c_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace host

template <>
struct Backend<HostExecutor, op::matmul> {
  /// Scratch for operands of type T.
  template <class T>
  static std::size_t workspace_bytes(const HostExecutor&, const GemmShape& shape) {
    return host::BlockedGemm<T, T, T>(shape, nullptr).bytes();
  }

  template <class T>
  static void prepare(const Workspace<HostExecutor>&, const GemmShape&, const std::source_location&) {}  // nothing is planned on the host

  template <class A, class B, class Bias, class C>
  static void run(Workspace<HostExecutor>& workspace, std::string_view op, const GemmShape& shape, const A* a, const B* b,
                  const Bias* bias, C* c, Accumulate accumulate, const std::source_location& where) {
    constexpr std::int64_t largest = (std::numeric_limits<int>::max)();  // of CBLAS's integers
    const std::int64_t side = (std::max)({shape.m, shape.n, shape.k});
    if (side > largest) fail<InvalidArgument>(where, op, "CBLAS takes no side above ", largest, ", got ", side);
    using Gemm = host::BlockedGemm<A, B, C>;
    const Gemm gemm(shape, workspace.scratch(Gemm(shape, nullptr).bytes(), op, where));
    gemm.run(a, b, bias, c, accumulate);
  }
};

}  // namespace mezzo::detail

#endif
