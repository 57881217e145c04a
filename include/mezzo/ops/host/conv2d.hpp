#pragma once
// Convolution on the host: images widened into padded scratch, then tiles of products that stay in registers.
//
// There is no im2col copy: a window of the padded image is a few contiguous runs, read in place. The data gradient is the
// same gather over the output's gradient, once for each position of a pixel relative to the stride. Sums run in float
// (double for double data) in an order that depends on the shape alone, not on the number of threads.

#include <mezzo/executor/host.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/gather.hpp>
#include <mezzo/ops/host/detail/weight_gradient.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/lower_precision.hpp>

namespace mezzo::detail {

template <>
struct Backend<HostExecutor, op::conv2d> {
  /// Scratch for any of the three, for operands of type T on all threads; fewer bytes run on fewer threads.
  template <class T>
  static std::size_t workspace_bytes(const HostExecutor&, const Conv2dShape& shape) {
    using Sum = accumulation_t<T>;
    const std::int64_t slots = host::threads();
    const std::size_t bytes[] = {host::Gather<Sum>::forward(shape, slots, nullptr).bytes(),
                                 host::Gather<Sum>::data_gradient(shape, slots, nullptr).bytes(),
                                 host::WeightGradient<Sum>(shape, slots, nullptr).bytes()};
    return (std::max)({bytes[0], bytes[1], bytes[2]});
  }

  template <class T>
  static void prepare(const Workspace<HostExecutor>&, const Conv2dShape&, const std::source_location&) {}  // nothing is planned on the host

  template <class X, class W, class Y>
  static void forward(Workspace<HostExecutor>& workspace, const Conv2dShape& shape, const X* x, const W* w, Y* y,
                      const std::source_location& where) {
    using Sum = accumulation_t<X, W, Y>;
    const auto gather = host::fit(workspace, "conv2d", where, [&](std::int64_t slots, std::byte* memory) {
      return host::Gather<Sum>::forward(shape, slots, memory);
    });
    gather.run(x, w, y, Accumulate::no);
  }

  template <class DY, class W, class DX>
  static void data_gradient(Workspace<HostExecutor>& workspace, const Conv2dShape& shape, const DY* dy, const W* w, DX* dx,
                            Accumulate accumulate, const std::source_location& where) {
    using Sum = accumulation_t<DY, W, DX>;
    const auto gather = host::fit(workspace, "conv2d_data_gradient", where, [&](std::int64_t slots, std::byte* memory) {
      return host::Gather<Sum>::data_gradient(shape, slots, memory);
    });
    gather.run(dy, w, dx, accumulate);
  }

  template <class X, class DY, class DW>
  static void weight_gradient(Workspace<HostExecutor>& workspace, const Conv2dShape& shape, const X* x, const DY* dy, DW* dw,
                              Accumulate accumulate, const std::source_location& where) {
    using Sum = accumulation_t<X, DY, DW>;
    const auto gradient = host::fit(workspace, "conv2d_weight_gradient", where, [&](std::int64_t slots, std::byte* memory) {
      return host::WeightGradient<Sum>(shape, slots, memory);
    });
    gradient.run(x, dy, dw, accumulate);
  }
};

}  // namespace mezzo::detail
