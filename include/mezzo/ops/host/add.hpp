#pragma once
// Addition on the host.

#include <mezzo/executor/host.hpp>
#include <mezzo/ops/detail/elementwise.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/parallel.hpp>
#include <mezzo/ops/host/detail/simd.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/promote.hpp>

namespace mezzo::detail {

template <>
struct Backend<HostExecutor, op::add> {
  template <class A, class B, class Y>
  static void run(Workspace<HostExecutor>&, std::int64_t count, const A* a, const B* b, Y* y) {
    host::parallel_pieces(count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      host::vectorised([=]() MEZZO_INLINE_BODY {
        for (std::int64_t i = begin; i < end; ++i) y[i] = sum_of<Y>(a[i], b[i]);
      });
    });
  }
};

}  // namespace mezzo::detail
