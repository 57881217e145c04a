#pragma once
// Batch norm on CUDA, two passes in each direction; see detail/batch_norm_kernels.cuh. ReLU and a shortcut can join them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/executor/memory.hpp>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/cuda/detail/batch_norm_kernels.cuh>
#include <mezzo/ops/cuda/detail/state.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/named_spans.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

namespace device {

/// Scratch of a pass that sums over rows.
template <class Real>
struct ChannelScratch {
  ChannelScratch(const ChannelTiles& tiles, std::byte* memory) {
    Arena arena(memory);
    first = arena.take<Real>(tiles.partials(), 16);
    second = arena.take<Real>(tiles.partials(), 16);
    factors = arena.take<Real>(3 * static_cast<std::size_t>(tiles.channels), 16);
    bytes = arena.bytes();
  }
  Real* first;
  Real* second;
  Real* factors;
  std::size_t bytes;
};

}  // namespace device

template <>
struct Backend<CudaExecutor, op::batch_norm> {
  using AfterNorm = device::AfterNorm;
  using ReluMask = device::ReluMask;

  /// batch_norm_relu and batch_norm_add_relu find their passes here.
  static constexpr bool joins_relu = true;

  template <class T>
  static std::size_t workspace_bytes(const CudaExecutor& executor, const ImageShape& shape) {
    const auto where = std::source_location::current();
    std::size_t bytes = 0;
    for (const int vector : {1, device::vector_width}) {
      if (shape.channels % vector != 0) continue;
      // One row in flight has the most blocks, and so the most partial sums.
      const auto tiles = device::ChannelTiles::of(rows_of(shape), shape.channels, vector, 1, multiprocessors(executor, where));
      bytes = (std::max)(bytes, device::ChannelScratch<accumulation_t<T>>(tiles, nullptr).bytes);
    }
    return bytes;
  }

  /// There is nothing to plan; this makes the counters that a captured run needs.
  template <class T>
  static void prepare(Workspace<CudaExecutor>& workspace, const ImageShape&, const std::source_location& where) {
    static_cast<void>(device::state_of(workspace, "batch_norm_prepare", where));
  }

  template <class T, class Real>
  static void forward(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x,
                      const BatchNormWeights<Real>& weights, const BatchNormRunning<Real>& running,
                      const BatchNormSaved<Real>& saved, T* y, const BatchNormOptions& options) {
    const T* const none = nullptr;
    forward<AfterNorm::nothing>(workspace, site, shape, x, none, weights, running, saved, y, options);
  }

  /// Statistics, then y = after(normalised x [+ shortcut]).
  template <AfterNorm After, class T, class Real>
  static void forward(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x,
                      const T* shortcut, const BatchNormWeights<Real>& weights, const BatchNormRunning<Real>& running,
                      const BatchNormSaved<Real>& saved, T* y, const BatchNormOptions& options) {
    const device::StatisticsOutput<Real> out{.mean = saved.mean.data(),
                                             .inv_std = saved.inv_std.data(),
                                             .running_mean = running.mean.size() != 0 ? running.mean.data() : nullptr,
                                             .running_variance = running.mean.size() != 0 ? running.variance.data() : nullptr,
                                             .epsilon = options.epsilon,
                                             .momentum = options.momentum};
    const device::NormInput<Real> in{.mean = saved.mean.data(),
                                     .inv_std = saved.inv_std.data(),
                                     .variance = nullptr,
                                     .gamma = weights.gamma.data(),
                                     .beta = weights.beta.data(),
                                     .epsilon = options.epsilon};
    with_vectors(shape, {x, shortcut, y}, [&]<int N>(std::integral_constant<int, N>) {
      const auto tiles = tiles_of<N, device::rows_in_flight<T, 1>>(workspace, site, shape);
      const auto partials = partials_of<Real>(workspace, site, tiles).first;
      launch(workspace.executor(), site.op, &device::statistics_kernel<N, T, Real>, tiles.grid(), device::channel_threads,
             site.where, tiles, x, partials, out);
      normalise<After, N>(workspace, site, shape, x, shortcut, in, y);
    });
  }

  template <class T, class Real>
  static void inference(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x,
                        const BatchNormWeights<Real>& weights, const BatchNormRunning<const Real>& running, T* y,
                        const BatchNormOptions& options) {
    const T* const none = nullptr;
    inference<AfterNorm::nothing>(workspace, site, shape, x, none, weights, running, y, options);
  }

  template <AfterNorm After, class T, class Real>
  static void inference(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x,
                        const T* shortcut, const BatchNormWeights<Real>& weights, const BatchNormRunning<const Real>& running,
                        T* y, const BatchNormOptions& options) {
    const device::NormInput<Real> in{.mean = running.mean.data(),
                                     .inv_std = nullptr,
                                     .variance = running.variance.data(),
                                     .gamma = weights.gamma.data(),
                                     .beta = weights.beta.data(),
                                     .epsilon = options.epsilon};
    with_vectors(shape, {x, shortcut, y},
                 [&]<int N>(std::integral_constant<int, N>) { normalise<After, N>(workspace, site, shape, x, shortcut, in, y); });
  }

  template <class T, class Real>
  static void backward(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x, const T* dy,
                       const BatchNormWeights<Real>& weights, const BatchNormSaved<const Real>& saved, T* dx,
                       const BatchNormGradients<Real>& gradients, Accumulate accumulate) {
    backward<ReluMask::none>(workspace, site, shape, {.x = x, .dy = dy}, weights, saved, dx, gradients, accumulate);
  }

  /// What the backward pass reads, and where the gradient past the mask goes.
  template <class T>
  struct Operands {
    const T* x = nullptr;
    const T* y = nullptr;  ///< for ReluMask::from_output
    const T* dy = nullptr;
    const T* more = nullptr;  ///< for ReluMask::from_output: a second gradient, added to dy; may be null
    T* masked = nullptr;      ///< for ReluMask::from_output
  };

  /// Gradient by x, through the mask of a ReLU where there was one.
  template <ReluMask Mask, class T, class Real>
  static void backward(Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape,
                       const Operands<T>& operands, const BatchNormWeights<Real>& weights,
                       const BatchNormSaved<const Real>& saved, T* dx, const BatchNormGradients<Real>& gradients,
                       Accumulate accumulate) {
    with_vectors(shape, {operands.x, operands.y, operands.dy, operands.more, operands.masked, dx},
                 [&]<int N>(std::integral_constant<int, N>) {
                   constexpr bool from_output = Mask == ReluMask::from_output;
                   const auto run = [&]<bool HasMore>(std::bool_constant<HasMore>) {
                     constexpr int rows = device::rows_in_flight<T, 2 + (from_output ? 1 : 0) + (HasMore ? 1 : 0)>;
                     const auto tiles = tiles_of<N, rows>(workspace, site, shape);
                     const auto [partials, factors] = partials_of<Real>(workspace, site, tiles);
                     const device::GradientSumsInput<T, Real> in{.x = operands.x,
                                                                 .y = operands.y,
                                                                 .dy = operands.dy,
                                                                 .more = operands.more,
                                                                 .masked = operands.masked,
                                                                 .mean = saved.mean.data(),
                                                                 .inv_std = saved.inv_std.data(),
                                                                 .gamma = weights.gamma.data(),
                                                                 .beta = weights.beta.data(),
                                                                 .dgamma = gradients.gamma.data(),
                                                                 .dbeta = gradients.beta.data(),
                                                                 .factors = factors,
                                                                 .add = accumulate == Accumulate::yes};
                     launch(workspace.executor(), site.op, &device::gradient_sums_kernel<Mask, HasMore, from_output, N, T, Real>,
                            tiles.grid(), device::channel_threads, site.where, tiles, in, partials);
                     if (tiles.rows == 0) return;
                     const auto next = tiles_of<N, device::rows_in_flight<T, 2>>(workspace, site, shape);
                     launch(workspace.executor(), site.op, &device::gradient_kernel<Mask == ReluMask::recomputed, N, T, Real>,
                            next.grid(), device::channel_threads, site.where, next, in,
                            from_output ? static_cast<const T*>(operands.masked) : operands.dy, dx);
                   };
                   if constexpr (from_output) {
                     if (operands.more != nullptr) return run(std::bool_constant<true>{});
                   }
                   run(std::bool_constant<false>{});
                 });
  }

 private:
  static std::int64_t rows_of(const ImageShape& shape) { return shape.batch * shape.height * shape.width; }

  /// Calls `body` with the number of channels that a thread can take at a time.
  template <class Body>
  static void with_vectors(const ImageShape& shape, std::initializer_list<const void*> pointers, Body&& body) {
    const bool aligned = std::all_of(pointers.begin(), pointers.end(), device::is_aligned);
    if (aligned && shape.channels % device::vector_width == 0) {
      body(std::integral_constant<int, device::vector_width>{});
    } else {
      body(std::integral_constant<int, 1>{});
    }
  }

  template <int N, int Rows>
  static device::ChannelTiles tiles_of(const Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape) {
    const auto tiles =
        device::ChannelTiles::of(rows_of(shape), shape.channels, N, Rows, multiprocessors(workspace.executor(), site.where));
    if (tiles.tiles > device::State::ticket_count) {
      fail<InvalidArgument>(site.where, site.op, "on CUDA there may be at most ",
                            std::int64_t{device::State::ticket_count} * tiles.width * N, " channels, got ", shape.channels);
    }
    return tiles;
  }

  template <class Real>
  struct Scratch {
    device::ChannelPartials<Real> first;
    Real* factors;
  };

  template <class Real>
  static Scratch<Real> partials_of(Workspace<CudaExecutor>& workspace, const OpSite& site, const device::ChannelTiles& tiles) {
    const device::State& state = device::state_of(workspace, site.op, site.where);
    const std::size_t bytes = device::ChannelScratch<Real>(tiles, nullptr).bytes;
    const device::ChannelScratch<Real> scratch(tiles, workspace.scratch(bytes, site.op, site.where));
    return {{scratch.first, scratch.second, state.tickets()}, scratch.factors};
  }

  template <AfterNorm After, int N, class T, class Real>
  static void normalise(const Workspace<CudaExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x,
                        const T* shortcut, const device::NormInput<Real>& in, T* y) {
    constexpr int rows = device::rows_of_normalise<T, After == AfterNorm::add_relu>;
    const auto tiles = tiles_of<N, rows>(workspace, site, shape);
    launch(workspace.executor(), site.op, &device::normalise_kernel<After, N, T, Real>, tiles.grid(), device::channel_threads,
           site.where, tiles, x, shortcut, in, y);
  }
};

}  // namespace mezzo::detail
