#pragma once
// ReLU on the host.

#include <mezzo/executor/host.hpp>
#include <mezzo/ops/detail/elementwise.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/parallel.hpp>
#include <mezzo/ops/host/detail/simd.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

template <>
struct Backend<HostExecutor, op::relu> {
  /// out[i] = value[i] where gate[i] passes, else 0.
  template <class T, class Gate>
  static void gated(Workspace<HostExecutor>&, std::int64_t count, const T* value, const Gate* gate, T* out) {
    host::parallel_pieces(count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      host::vectorised([=]() MEZZO_INLINE_BODY {
        for (std::int64_t i = begin; i < end; ++i) out[i] = relu_gated(value[i], gate[i]);
      });
    });
  }
};

}  // namespace mezzo::detail
