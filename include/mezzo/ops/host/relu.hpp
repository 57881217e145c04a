#pragma once
// ReLU on the host.

#include <cstdint>

#include <mezzo/executor/host.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/elementwise.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/parallel.hpp>
#include <mezzo/ops/host/detail/simd.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

template <>
struct Backend<HostExecutor, op::relu> {
  template <class T>
  static void forward(Workspace<HostExecutor>&, const OpSite&, std::int64_t count, const T* x, T* y) {
    gated(count, x, x, y);
  }

  /// dx[i] = dy[i] where y[i] passes, else 0.
  template <class T, class Gate>
  static void backward(Workspace<HostExecutor>&, const OpSite&, std::int64_t count, const T* dy, const Gate* y, T* dx) {
    gated(count, dy, y, dx);
  }

 private:
  template <class T, class Gate>
  static void gated(std::int64_t count, const T* value, const Gate* gate, T* out) {
    // As plain integers: the compiler vectorises no loop over the toolkit's classes.
    using ValueBits [[gnu::may_alias]] = typename element_traits<T>::bits_type;
    using GateBits [[gnu::may_alias]] = typename element_traits<Gate>::bits_type;
    const auto* const values = reinterpret_cast<const ValueBits*>(value);
    const auto* const gates = reinterpret_cast<const GateBits*>(gate);
    auto* const results = reinterpret_cast<ValueBits*>(out);
    host::parallel_pieces(count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
      host::vectorised([=]() MEZZO_INLINE_BODY {
        for (std::int64_t i = begin; i < end; ++i) {
          if constexpr (sizeof(T) == sizeof(Gate)) {
            results[i] = static_cast<ValueBits>(values[i] & relu_mask<Gate>(gates[i]));
          } else {
            results[i] = relu_mask<Gate>(gates[i]) != 0 ? values[i] : ValueBits{0};
          }
        }
      });
    });
  }
};

}  // namespace mezzo::detail
