#pragma once
// Addition on the host.

#include <algorithm>
#include <cstdint>

#include <mezzo/executor/host.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/elementwise.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/parallel.hpp>
#include <mezzo/ops/host/detail/rows.hpp>
#include <mezzo/ops/host/detail/simd.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/promote.hpp>

namespace mezzo::detail {

template <>
struct Backend<HostExecutor, op::add> {
  template <class A, class B, class Y>
  static void run(Workspace<HostExecutor>&, const OpSite&, std::int64_t count, const A* a, const B* b, Y* y) {
    host::parallel_pieces(count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (sizeof(A) >= 4 && sizeof(B) >= 4 && sizeof(Y) >= 4) {
        host::vectorised([=]() MEZZO_INLINE_BODY {
          for (std::int64_t i = begin; i < end; ++i) y[i] = sum_of<Y>(a[i], b[i]);
        });
      } else {
        run_widened(begin, end, a, b, y);
      }
    });
  }

 private:
  template <class A, class B, class Y>
  static void run_widened(std::int64_t begin, std::int64_t end, const A* a, const B* b, Y* y) {
    using Sum = accumulation_t<A, B, Y>;
    Sum left[host::row_block];
    Sum right[host::row_block];
    for (std::int64_t first = begin; first < end; first += host::row_block) {
      const std::int64_t width = (std::min)(host::row_block, end - first);
      host::widen_row(a + first, left, width);
      host::widen_row(b + first, right, width);
      host::vectorised([&left, &right, width]() MEZZO_INLINE_BODY {
        for (std::int64_t i = 0; i < width; ++i) left[i] = sum_of<Sum>(left[i], right[i]);
      });
      host::narrow_row(left, y + first, width);
    }
  }
};

}  // namespace mezzo::detail
