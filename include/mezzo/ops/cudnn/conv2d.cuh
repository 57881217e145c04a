#pragma once
// Convolution through cuDNN's graph API: float16, bfloat16 and tf32 in NHWC, float32 sums.
//
// Kernels that sum in half, transform (Winograd, FFT), lose infinities when tried or give other bits from run to run are left out. Float32
// in full precision (Float32Math::ieee) and whatever else cuDNN has no kernel for runs without it (ops/cublas/conv2d.cuh): in
// NHWC cuDNN's fast kernels are those for tensor cores. Planning tries several kernels, and that way too, on memory of its own,
// which can take seconds: call conv2d_prepare once per shape. Link with cuDNN 9 (CMake target mezzo::cudnn, which also defines
// MEZZO_HAS_CUDNN; all translation units of a program must agree on it).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/cublas/conv2d.cuh>
#include <mezzo/ops/cuda/detail/scratch.hpp>
#include <mezzo/ops/cudnn/detail/convolutions.cuh>
#include <mezzo/ops/detail/conv2d_pass.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>

namespace mezzo::detail::cudnn {

class GraphConv2d {
 public:
  /// Room for the kernels that split a weight gradient; with less, fewer kernels are there to choose from.
  template <class T>
  static std::size_t workspace_bytes(const CudaExecutor& executor, const Conv2dShape& shape) {
    constexpr std::size_t plenty = std::size_t{128} << 20;
    return (std::max)(plenty, Gathered::workspace_bytes<T>(executor, shape));
  }

  /// Plans all passes, also those that add to their output.
  template <class T>
  static void prepare(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const std::source_location& where) {
    device::refuse_capture(workspace.executor(), "conv2d_prepare", where);
    if (shape.batch == 0) return;
    if constexpr (convolves<T, T, T>) {
      if (is_fast<T>(workspace) && plan_all<T>({workspace, "conv2d_prepare", where}, shape)) return;
    }
    Gathered::prepare<T>(workspace, shape, where);
  }

  template <class X, class W, class Y>
  static void forward(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const X* x, const W* w, Y* y,
                      const std::source_location& where) {
    if constexpr (convolves<X, W, Y>) {
      const Call call{workspace, "conv2d", where};
      if (is_fast<X>(workspace) && aligned(x, w, y) &&
          run<X, Y>(call, Conv2dPass::forward, shape, x, w, y, scratch_of(workspace)))
        return;
    }
    Gathered::forward(workspace, shape, x, w, y, where);
  }

  template <class DY, class W, class DX>
  static void data_gradient(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const DY* dy, const W* w, DX* dx,
                            Accumulate accumulate, const std::source_location& where) {
    if constexpr (convolves<DY, W, DX>) {
      const Call call{workspace, "conv2d_data_gradient", where};
      if (is_fast<DY>(workspace) && aligned(dy, w, dx)) {
        if (accumulate == Accumulate::no) {
          if (run<DY, DX>(call, Conv2dPass::data_gradient, shape, dy, w, dx, scratch_of(workspace))) return;
        } else if constexpr (std::is_same_v<DY, DX>) {
          if (add_data_gradient(call, shape, dy, w, dx)) return;
        }
      }
    }
    Gathered::data_gradient(workspace, shape, dy, w, dx, accumulate, where);
  }

  template <class X, class DY, class DW>
  static void weight_gradient(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const X* x, const DY* dy, DW* dw,
                              Accumulate accumulate, const std::source_location& where) {
    if constexpr (convolves<X, DY, DW>) {
      const Call call{workspace, "conv2d_weight_gradient", where};
      if (is_fast<X>(workspace) && shape.batch != 0 && aligned(x, dy, dw)) {
        if (accumulate == Accumulate::no) {
          if (run<X, DW>(call, Conv2dPass::weight_gradient, shape, dy, x, dw, scratch_of(workspace))) return;
        } else {
          Scratch scratch = scratch_of(workspace);
          float* const sums = reinterpret_cast<float*>(scratch.take(weight_bytes(shape)).memory);
          if (sums != nullptr && run<X, float>(call, Conv2dPass::weight_gradient, shape, dy, x, sums, scratch)) {
            for_each_index(workspace.executor(), weight_bytes(shape) / sizeof(float),
                           cublas::StoreSums<float, DW>{sums, dw, true}, where);
            return;
          }
        }
      }
    }
    Gathered::weight_gradient(workspace, shape, x, dy, dw, accumulate, where);
  }

 private:
  using Gathered = cublas::GatheredConv2d;

  static constexpr int tuned = 8;  ///< kernels that a plan on the main path is chosen from

  /// Types that cuDNN convolves in the precision that the ops promise.
  template <class A, class B, class C>
  static constexpr bool convolves = std::is_same_v<A, B> &&
                                    ((SixteenBit<A> && (std::is_same_v<C, A> || std::is_same_v<C, float>)) ||
                                     (std::is_same_v<A, float> && std::is_same_v<C, float>));

  struct Call {
    Workspace<CudaExecutor>& workspace;
    std::string_view op;
    const std::source_location& where;
  };

  using Scratch = device::Scratch;

  static Scratch scratch_of(const Workspace<CudaExecutor>& workspace) {
    return {workspace.scratch(0, "conv2d", std::source_location::current()), workspace.bytes()};
  }

  /// Bytes of an unrounded weight gradient.
  static std::size_t weight_bytes(const Conv2dShape& shape) {
    return static_cast<std::size_t>(shape.out_channels * shape.kernel * shape.kernel * shape.in_channels) * sizeof(float);
  }

  template <class... T>
  static bool aligned(const T*... pointers) {
    return (device::is_aligned(pointers) && ...);
  }

  /// Whether cuDNN is the faster way for operands of this type.
  template <class In>
  static bool is_fast(Workspace<CudaExecutor>& workspace) {
    return !std::is_same_v<In, float> || float32_math(workspace) == Float32Math::tf32;
  }

  /// Plans every pass; returns whether cuDNN has kernels for all of them.
  template <class T>
  static bool plan_all(const Call& call, const Conv2dShape& shape) {
    bool all = plan<T, T>(call, Conv2dPass::forward, shape, scratch_of(call.workspace)).found();
    all = plan<T, T>(call, Conv2dPass::data_gradient, shape, scratch_of(call.workspace)).found() && all;
    all = can_add<T>(call, shape) && all;
    if constexpr (!std::is_same_v<T, float>)
      all = plan<T, T>(call, Conv2dPass::weight_gradient, shape, scratch_of(call.workspace)).found() && all;
    all = plan<T, float>(call, Conv2dPass::weight_gradient, shape, scratch_of(call.workspace)).found() && all;
    Scratch scratch = scratch_of(call.workspace);
    return scratch.take(weight_bytes(shape)).memory != nullptr &&
           plan<T, float>(call, Conv2dPass::weight_gradient, shape, scratch).found() && all;
  }

  template <class In, class Out>
  static const ConvolutionPlan& plan(const Call& call, Conv2dPass pass, const Conv2dShape& shape, const Scratch& scratch,
                                     bool add = false) {
    auto& convolutions = call.workspace.template kept<Convolutions>(call.workspace.executor(), call.op, call.where);
    const ConvolutionKey key{.pass = pass,
                             .in = element_type_of<In>,
                             .out = element_type_of<Out>,
                             .add = add,
                             .shape = shape,
                             .scratch = scratch.bytes};
    // Trying kernels takes longer than a small convolution will ever win back.
    const double products = static_cast<double>(shape.batch * shape.out_height() * shape.out_width()) *
                            static_cast<double>(shape.out_channels * shape.kernel * shape.kernel * shape.in_channels);
    const bool worth_timing = products > 0x1p26 && !add && std::is_same_v<In, Out>;
    const auto gathered = [&](const Trial& trial) {
      if (call.workspace.bytes() < Gathered::workspace_bytes<In>(call.workspace.executor(), shape)) return false;
      const auto* const first = reinterpret_cast<const In*>(trial.first.data());
      const auto* const second = reinterpret_cast<const In*>(trial.second.data());
      auto* const out = reinterpret_cast<Out*>(trial.out.data());
      switch (pass) {
        case Conv2dPass::forward:
          Gathered::forward(call.workspace, shape, first, second, out, call.where);
          break;
        case Conv2dPass::data_gradient:
          Gathered::data_gradient(call.workspace, shape, first, second, out, Accumulate::no, call.where);
          break;
        default:
          Gathered::weight_gradient(call.workspace, shape, second, first, out, Accumulate::no, call.where);
      }
      return true;
    };
    return convolutions.plan(call.workspace.executor(), key, worth_timing ? tuned : 1, gathered, call.op, call.where);
  }

  template <class In, class Out>
  static bool run(const Call& call, Conv2dPass pass, const Conv2dShape& shape, const In* first, const In* second, Out* out,
                  const Scratch& scratch, bool add = false) {
    const ConvolutionPlan& chosen = plan<In, Out>(call, pass, shape, scratch, add);
    if (!chosen.found()) return false;
    auto& convolutions = call.workspace.template kept<Convolutions>(call.workspace.executor(), call.op, call.where);
    convolutions.run(call.workspace.executor(), chosen, first, second, out, add, scratch.memory, call.where);
    return true;
  }

  /// A data gradient that is computed unrounded beside its output and then added, by tiles of images.
  struct Tiles {
    Scratch sums, kernel;     ///< each half of the scratch
    std::int64_t images = 0;  ///< of a tile; 0 where there is no room for one

    Tiles(const Workspace<CudaExecutor>& workspace, const Conv2dShape& shape) : kernel(scratch_of(workspace)) {
      sums = kernel.take(kernel.bytes / 2);
      const auto image = static_cast<std::size_t>(shape.height * shape.width * shape.in_channels) * sizeof(float);
      const auto most = static_cast<std::int64_t>(sums.bytes / image);
      if (most == 0) return;
      const std::int64_t tiles = (shape.batch + most - 1) / most;
      images = (shape.batch + tiles - 1) / tiles;
    }
  };

  /// Whether the data gradient can be added to what dx holds: in one kernel, or by tiles.
  template <class T>
  static bool can_add(const Call& call, const Conv2dShape& shape) {
    return plan<T, T>(call, Conv2dPass::data_gradient, shape, scratch_of(call.workspace), true).found() ||
           can_add_tiles<T>(call, shape);
  }

  template <class T>
  static bool can_add_tiles(const Call& call, const Conv2dShape& shape) {
    const Tiles tiles(call.workspace, shape);
    if (tiles.images == 0) return false;
    for (const std::int64_t batch : {tiles.images, shape.batch % tiles.images}) {
      if (batch == 0) continue;
      Conv2dShape tile = shape;
      tile.batch = batch;
      if (!plan<T, float>(call, Conv2dPass::data_gradient, tile, tiles.kernel).found()) return false;
    }
    return true;
  }

  template <class T>
  static bool add_data_gradient(const Call& call, const Conv2dShape& shape, const T* dy, const T* w, T* dx) {
    Workspace<CudaExecutor>& workspace = call.workspace;
    if (run<T, T>(call, Conv2dPass::data_gradient, shape, dy, w, dx, scratch_of(workspace), true)) return true;
    const Tiles tiles(workspace, shape);
    const std::int64_t dy_image = shape.out_height() * shape.out_width() * shape.out_channels;
    const std::int64_t dx_image = shape.height * shape.width * shape.in_channels;
    if (tiles.images < shape.batch && !aligned(dy + tiles.images * dy_image)) return false;
    if (!can_add_tiles<T>(call, shape)) return false;
    float* const sums = reinterpret_cast<float*>(tiles.sums.memory);
    for (std::int64_t first = 0; first < shape.batch; first += tiles.images) {
      Conv2dShape tile = shape;
      tile.batch = (std::min)(tiles.images, shape.batch - first);
      run<T, float>(call, Conv2dPass::data_gradient, tile, dy + first * dy_image, w, sums, tiles.kernel);
      for_each_index(workspace.executor(), static_cast<std::uint64_t>(tile.batch * dx_image),
                     cublas::StoreSums<float, T>{sums, dx + first * dx_image, true}, call.where);
    }
    return true;
  }
};

}  // namespace mezzo::detail::cudnn
