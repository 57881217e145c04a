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
#include <mezzo/ops/cudnn/detail/convolutions.cuh>
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
      if (is_fast<X>(workspace) && aligned(x, w, y) && run<X, Y>(call, Pass::forward, shape, x, w, y, scratch_of(workspace, 0))) return;
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
          if (run<DY, DX>(call, Pass::data_gradient, shape, dy, w, dx, scratch_of(workspace, 0))) return;
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
          if (run<X, DW>(call, Pass::weight_gradient, shape, dy, x, dw, scratch_of(workspace, 0))) return;
        } else if (weight_bytes(shape) <= workspace.bytes()) {
          float* const sums = reinterpret_cast<float*>(workspace.scratch(weight_bytes(shape), call.op, where));
          if (run<X, float>(call, Pass::weight_gradient, shape, dy, x, sums, scratch_of(workspace, weight_bytes(shape)))) {
            const std::int64_t count = shape.out_channels * shape.kernel * shape.kernel * shape.in_channels;
            for_each_index(workspace.executor(), static_cast<std::uint64_t>(count), cublas::StoreSums<float, DW>{sums, dw, true}, where);
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
  static constexpr bool convolves = std::is_same_v<A, B> && ((SixteenBit<A> && (std::is_same_v<C, A> || std::is_same_v<C, float>)) ||
                                                             (std::is_same_v<A, float> && std::is_same_v<C, float>));

  struct Call {
    Workspace<CudaExecutor>& workspace;
    std::string_view op;
    const std::source_location& where;
  };

  struct Scratch {
    std::byte* memory;
    std::size_t bytes;
  };

  /// The scratch from byte `used` on, aligned as cuDNN wants it.
  static Scratch scratch_of(const Workspace<CudaExecutor>& workspace, std::size_t used) {
    constexpr std::size_t alignment = 256;
    std::byte* const memory = workspace.scratch(0, "conv2d", std::source_location::current());
    const std::size_t skip = (alignment - reinterpret_cast<std::uintptr_t>(memory) % alignment) % alignment;
    if (memory == nullptr || workspace.bytes() <= used + skip) return {nullptr, 0};
    return {memory + used + skip, workspace.bytes() - used - skip};
  }

  /// Bytes of an unrounded weight gradient.
  static std::size_t weight_bytes(const Conv2dShape& shape) {
    const auto count = static_cast<std::size_t>(shape.out_channels * shape.kernel * shape.kernel * shape.in_channels);
    return (count * sizeof(float) + 255) / 256 * 256;
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
    bool all = plan<T, T>(call, Pass::forward, shape, scratch_of(call.workspace, 0)).found();
    all = plan<T, T>(call, Pass::data_gradient, shape, scratch_of(call.workspace, 0)).found() && all;
    all = can_add<T>(call, shape) && all;
    if constexpr (!std::is_same_v<T, float>) all = plan<T, T>(call, Pass::weight_gradient, shape, scratch_of(call.workspace, 0)).found() && all;
    all = plan<T, float>(call, Pass::weight_gradient, shape, scratch_of(call.workspace, 0)).found() && all;
    if (weight_bytes(shape) <= call.workspace.bytes()) {
      all = plan<T, float>(call, Pass::weight_gradient, shape, scratch_of(call.workspace, weight_bytes(shape))).found() && all;
    } else {
      all = false;
    }
    return all;
  }

  template <class In, class Out>
  static const ConvolutionPlan& plan(const Call& call, Pass pass, const Conv2dShape& shape, const Scratch& scratch, bool add = false) {
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
        case Pass::forward: Gathered::forward(call.workspace, shape, first, second, out, call.where); break;
        case Pass::data_gradient: Gathered::data_gradient(call.workspace, shape, first, second, out, Accumulate::no, call.where); break;
        default: Gathered::weight_gradient(call.workspace, shape, second, first, out, Accumulate::no, call.where);
      }
      return true;
    };
    return convolutions.plan(call.workspace.executor(), key, worth_timing ? tuned : 1, gathered, call.op, call.where);
  }

  template <class In, class Out>
  static bool run(const Call& call, Pass pass, const Conv2dShape& shape, const In* first, const In* second, Out* out, const Scratch& scratch,
                  bool add = false) {
    const ConvolutionPlan& chosen = plan<In, Out>(call, pass, shape, scratch, add);
    if (!chosen.found()) return false;
    auto& convolutions = call.workspace.template kept<Convolutions>(call.workspace.executor(), call.op, call.where);
    convolutions.run(call.workspace.executor(), chosen, first, second, out, add, scratch.memory, call.where);
    return true;
  }

  /// Images of a tile of a data gradient that is computed unrounded beside its output and then added: half of the scratch.
  static std::int64_t tile_images(const Workspace<CudaExecutor>& workspace, const Conv2dShape& shape) {
    const auto image = static_cast<std::size_t>(shape.height * shape.width * shape.in_channels) * sizeof(float);
    const auto most = static_cast<std::int64_t>(workspace.bytes() / 2 / image);
    if (most == 0) return 0;
    const std::int64_t tiles = (shape.batch + most - 1) / most;
    return (shape.batch + tiles - 1) / tiles;
  }

  static Scratch second_half(const Workspace<CudaExecutor>& workspace) { return scratch_of(workspace, workspace.bytes() / 2 / 256 * 256); }

  /// Whether the data gradient can be added to what dx holds: in one kernel, or by tiles.
  template <class T>
  static bool can_add(const Call& call, const Conv2dShape& shape) {
    return plan<T, T>(call, Pass::data_gradient, shape, scratch_of(call.workspace, 0), true).found() || can_add_tiles<T>(call, shape);
  }

  template <class T>
  static bool can_add_tiles(const Call& call, const Conv2dShape& shape) {
    const std::int64_t images = tile_images(call.workspace, shape);
    if (images == 0) return false;
    for (const std::int64_t batch : {images, shape.batch % images}) {
      if (batch == 0) continue;
      Conv2dShape tile = shape;
      tile.batch = batch;
      if (!plan<T, float>(call, Pass::data_gradient, tile, second_half(call.workspace)).found()) return false;
    }
    return true;
  }

  template <class T>
  static bool add_data_gradient(const Call& call, const Conv2dShape& shape, const T* dy, const T* w, T* dx) {
    Workspace<CudaExecutor>& workspace = call.workspace;
    if (run<T, T>(call, Pass::data_gradient, shape, dy, w, dx, scratch_of(workspace, 0), true)) return true;
    const std::int64_t images = tile_images(workspace, shape);
    const std::int64_t dy_image = shape.out_height() * shape.out_width() * shape.out_channels;
    const std::int64_t dx_image = shape.height * shape.width * shape.in_channels;
    if (images < shape.batch && !aligned(dy + images * dy_image)) return false;
    if (!can_add_tiles<T>(call, shape)) return false;
    float* const sums = reinterpret_cast<float*>(workspace.scratch(0, call.op, call.where));
    for (std::int64_t first = 0; first < shape.batch; first += images) {
      Conv2dShape tile = shape;
      tile.batch = (std::min)(images, shape.batch - first);
      run<T, float>(call, Pass::data_gradient, tile, dy + first * dy_image, w, sums, second_half(workspace));
      for_each_index(workspace.executor(), static_cast<std::uint64_t>(tile.batch * dx_image),
                     cublas::StoreSums<float, T>{sums, dx + first * dx_image, true}, call.where);
    }
    return true;
  }
};

}  // namespace mezzo::detail::cudnn
