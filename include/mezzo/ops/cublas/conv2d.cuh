#pragma once
// Convolution with the toolkit alone: gathered windows times weights, through cuBLASLt; tiles of images as the scratch allows.
//
// Right for every shape and type that the op takes. A 1 x 1 convolution of stride 1 is a product by itself and gathers
// nothing. In full float32, where tensor cores do not help, kernels that read the images themselves are faster than rows that
// pass through memory (ops/cuda/detail/implicit_product.cuh). The cuDNN back end, where it is there, falls back on this one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/cublas/detail/gather.cuh>
#include <mezzo/ops/cublas/gemm.cuh>
#include <mezzo/ops/cuda/detail/implicit_conv2d.cuh>
#include <mezzo/ops/detail/conv2d_pass.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>

namespace mezzo::detail::cublas {

class GatheredConv2d {
 public:
  /// Scratch for the products and as many images at once as 64 MiB hold; with less, fewer images are taken at a time.
  template <class T>
  static std::size_t workspace_bytes(const CudaExecutor&, const Conv2dShape& shape) {
    constexpr std::size_t plenty = std::size_t{64} << 20;
    const std::size_t image = row_bytes<T>(shape, Conv2dPass::data_gradient);
    const auto batch = static_cast<std::size_t>(shape.batch);
    const std::size_t images = image == 0 ? 0 : (std::min)((std::max)(plenty / image, std::size_t{1}), batch);
    return recommended_scratch + sums_bytes<T>(shape) + images * image + 4 * device::Scratch::alignment;
  }

  /// Plans the products of all passes, for full tiles and the last one.
  template <class T>
  static void prepare(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const std::source_location& where) {
    device::refuse_capture(workspace.executor(), "conv2d_prepare", where);
    if constexpr (multiplies<T, T, T>) {
      for (const Conv2dPass pass : {Conv2dPass::forward, Conv2dPass::data_gradient, Conv2dPass::weight_gradient})
        plan_products<T>(workspace, shape, pass, where);
    }
  }

  template <class X, class W, class Y>
  static void forward(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const X* x, const W* w, Y* y,
                      const std::source_location& where) {
    if constexpr (all_float<X, W, Y>) {
      if (is_implicit(workspace, shape) && device::ImplicitConv2d::forward(workspace.executor(), shape, x, w, y, where)) return;
    }
    for_each_tile<X>(workspace, shape, Conv2dPass::forward, where,
                     [&](const Conv2dShape& tile, std::int64_t first, const Layout& layout) {
                       const X* const rows = gather(workspace, tile, x + first * image_elements(shape), layout, where);
                       product(workspace, "conv2d", product_of(tile, Conv2dPass::forward), rows, w,
                               y + first * out_elements(shape), false, layout, where);
                     });
  }

  template <class DY, class W, class DX>
  static void data_gradient(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const DY* dy, const W* w, DX* dx,
                            Accumulate accumulate, const std::source_location& where) {
    using Sum = accumulation_t<DY, W, DX>;
    const bool add = accumulate == Accumulate::yes;
    if constexpr (all_float<DY, W, DX>) {
      if (is_implicit(workspace, shape) &&
          device::ImplicitConv2d::data_gradient(workspace.executor(), shape, dy, w, dx, add, where))
        return;
    }
    for_each_tile<DY>(workspace, shape, Conv2dPass::data_gradient, where,
                      [&](const Conv2dShape& tile, std::int64_t first, const Layout& layout) {
                        const GemmShape gemm = product_of(tile, Conv2dPass::data_gradient);
                        const DY* const from = dy + first * out_elements(shape);
                        DX* const to = dx + first * image_elements(shape);
                        if (is_product(shape))
                          return product(workspace, "conv2d_data_gradient", gemm, from, w, to, add, layout, where);
                        Sum* const rows = reinterpret_cast<Sum*>(layout.rows);
                        product(workspace, "conv2d_data_gradient", gemm, from, w, rows, false, layout, where);
                        with_index(tile.batch * image_elements(shape), [&]<class Index>(Index) {
                          for_each_index(workspace.executor(), static_cast<std::uint64_t>(tile.batch * image_elements(shape)),
                                         ScatterWindows<Index, Sum, DX>{tile, rows, to, add}, where);
                        });
                      });
  }

  template <class X, class DY, class DW>
  static void weight_gradient(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, const X* x, const DY* dy, DW* dw,
                              Accumulate accumulate, const std::source_location& where) {
    using Sum = accumulation_t<X, DY, DW>;
    const std::int64_t count = shape.out_channels * window(shape);
    const bool add = accumulate == Accumulate::yes;
    if (shape.batch == 0) {
      if (!add) workspace.executor().fill(dw, std::byte{0}, static_cast<std::size_t>(count) * sizeof(DW), where);
      return;
    }
    if constexpr (all_float<X, DY, DW>) {
      std::byte* const scratch = workspace.scratch(0, "conv2d_weight_gradient", where);
      if (is_implicit(workspace, shape) && device::ImplicitConv2d::weight_gradient(workspace.executor(), shape, x, dy, dw, add,
                                                                                   scratch, workspace.bytes(), where)) {
        return;
      }
    }
    for_each_tile<X>(
        workspace, shape, Conv2dPass::weight_gradient, where,
        [&](const Conv2dShape& tile, std::int64_t first, const Layout& layout) {
          const GemmShape gemm = product_of(tile, Conv2dPass::weight_gradient);
          const DY* const gradient = dy + first * out_elements(shape);
          const X* const rows = gather(workspace, tile, x + first * image_elements(shape), layout, where);
          if constexpr (std::is_same_v<DW, Sum>) {
            product(workspace, "conv2d_weight_gradient", gemm, gradient, rows, dw, add || first != 0, layout, where);
          } else if (tile.batch == shape.batch) {
            product(workspace, "conv2d_weight_gradient", gemm, gradient, rows, dw, add, layout, where);
          } else {  // the sums of several tiles are rounded once
            Sum* const sums = reinterpret_cast<Sum*>(layout.sums);
            product(workspace, "conv2d_weight_gradient", gemm, gradient, rows, sums, first != 0, layout, where);
            if (first + tile.batch < shape.batch) return;
            for_each_index(workspace.executor(), static_cast<std::uint64_t>(count), StoreSums<Sum, DW>{sums, dw, add}, where);
          }
        });
  }

 private:
  static std::int64_t window(const Conv2dShape& shape) { return shape.kernel * shape.kernel * shape.in_channels; }
  static std::int64_t out_pixels(const Conv2dShape& shape) { return shape.out_height() * shape.out_width(); }
  static std::int64_t out_elements(const Conv2dShape& shape) { return out_pixels(shape) * shape.out_channels; }
  static std::int64_t image_elements(const Conv2dShape& shape) { return shape.height * shape.width * shape.in_channels; }

  /// Whether the convolution is a product as it stands.
  static bool is_product(const Conv2dShape& shape) { return shape.kernel == 1 && shape.stride == 1 && shape.padding == 0; }

  template <class A, class B, class C>
  static constexpr bool all_float = std::is_same_v<A, float>&& std::is_same_v<B, float>&& std::is_same_v<C, float>;

  /// Whether kernels of our own are taken for floats: in full precision, where they are faster (docs/results.md), and with so few
  /// channels that tensor cores should wait for the gathered rows (an estimate).
  static bool is_implicit(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape) {
    const bool narrow = shape.in_channels <= 16 && shape.out_channels <= 16;
    return (float32_math(workspace) == Float32Math::ieee || narrow) && !is_product(shape);
  }

  static GemmShape product_of(const Conv2dShape& shape, Conv2dPass pass) {
    const std::int64_t pixels = shape.batch * out_pixels(shape);
    switch (pass) {
      case Conv2dPass::forward:
        return {.m = pixels, .n = shape.out_channels, .k = window(shape), .transpose_b = Transpose::yes};
      case Conv2dPass::data_gradient:
        return {.m = pixels, .n = window(shape), .k = shape.out_channels};
      default:
        return {.m = shape.out_channels, .n = window(shape), .k = pixels, .transpose_a = Transpose::yes};
    }
  }

  /// Bytes of the rows of one image; those of the data gradient are unrounded sums.
  template <class T>
  static std::size_t row_bytes(const Conv2dShape& shape, Conv2dPass pass) {
    if (is_product(shape)) return 0;
    return static_cast<std::size_t>(out_pixels(shape) * window(shape)) *
           (pass == Conv2dPass::data_gradient ? sizeof(accumulation_t<T>) : sizeof(T));
  }

  /// Bytes of an unrounded weight gradient.
  template <class T>
  static std::size_t sums_bytes(const Conv2dShape& shape) {
    return static_cast<std::size_t>(shape.out_channels * window(shape)) * sizeof(accumulation_t<T>);
  }

  /// How the scratch is cut: an unrounded weight gradient, the rows of some images, the products' own.
  struct Layout {
    std::byte* sums = nullptr;
    std::byte* rows = nullptr;
    device::Scratch product;
    std::int64_t images = 0;  ///< at once
  };

  template <class T>
  static Layout layout_of(const Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, Conv2dPass pass,
                          const std::source_location& where) {
    static constexpr std::string_view names[] = {"conv2d", "conv2d_data_gradient", "conv2d_weight_gradient"};
    const std::size_t image = row_bytes<T>(shape, pass);
    const std::size_t sums = pass == Conv2dPass::weight_gradient && image != 0 ? sums_bytes<T>(shape) : 0;
    const std::size_t least = device::Scratch::rounded_up(image);
    const std::size_t needed = image == 0 ? 0 : device::Scratch::alignment + device::Scratch::rounded_up(sums) + least;
    device::Scratch left(workspace.scratch(needed, names[static_cast<int>(pass)], where), workspace.bytes());
    if (image == 0) return {.product = product_scratch(left), .images = (std::max<std::int64_t>)(shape.batch, 1)};

    Layout layout;
    layout.sums = left.take(sums).memory;
    // The products get what cuBLAS recommends, as long as half is left for rows.
    const std::size_t for_rows = (std::max)(least, left.bytes - (std::min)(recommended_scratch, left.bytes / 2));
    std::int64_t images = (std::min)(static_cast<std::int64_t>(for_rows / image), shape.batch);
    if (images < shape.batch && images > 8) images -= images % 8;  // later tiles then start at aligned addresses
    layout.images = (std::max<std::int64_t>)(images, 1);
    layout.rows = left.take(static_cast<std::size_t>(layout.images) * image).memory;
    layout.product = product_scratch(left);
    return layout;
  }

  /// Calls `body(shape of the tile, its first image, layout)` for tiles of images.
  template <class T, class Body>
  static void for_each_tile(const Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, Conv2dPass pass,
                            const std::source_location& where, Body&& body) {
    const Layout layout = layout_of<T>(workspace, shape, pass, where);
    for (std::int64_t first = 0; first < shape.batch; first += layout.images) {
      Conv2dShape tile = shape;
      tile.batch = (std::min)(layout.images, shape.batch - first);
      body(tile, first, layout);
    }
  }

  template <class T>
  static void plan_products(Workspace<CudaExecutor>& workspace, const Conv2dShape& shape, Conv2dPass pass,
                            const std::source_location& where) {
    using Sum = accumulation_t<T>;
    if (shape.batch == 0) return;
    Products& products = products_of(workspace, "conv2d_prepare", where);
    const Layout layout = layout_of<T>(workspace, shape, pass, where);
    for (const std::int64_t images : {layout.images, shape.batch % layout.images}) {
      if (images == 0) continue;
      Conv2dShape tile = shape;
      tile.batch = images;
      const GemmShape gemm = product_of(tile, pass);
      const T* const any = nullptr;
      const auto plan = [&](const auto* out) {
        const ProductKey key = product_key(workspace, gemm, any, any, out, out, layout.product, gemm.m);
        static_cast<void>(products.plan(workspace.executor(), key, "conv2d_prepare", where));
      };
      plan(any);
      plan(static_cast<const Sum*>(nullptr));
      if constexpr (SixteenBit<T>) {
        if (pass != Conv2dPass::forward) plan_joined<T>(workspace, "conv2d_prepare", gemm, layout.product, where);
      }
    }
  }

  /// The windows of a tile as rows: gathered, or x itself.
  template <class T>
  static const T* gather(const Workspace<CudaExecutor>& workspace, const Conv2dShape& tile, const T* x, const Layout& layout,
                         const std::source_location& where) {
    if (is_product(tile)) return x;
    constexpr int width = device::vector_width;
    T* const rows = reinterpret_cast<T*>(layout.rows);
    const std::int64_t count = tile.batch * out_pixels(tile) * window(tile);
    with_index(count, [&]<class Index>(Index) {
      if (tile.in_channels % width == 0 && device::is_aligned(x)) {
        for_each_index(workspace.executor(), static_cast<std::uint64_t>(count / width),
                       GatherWindows<width, Index, T>{tile, x, rows}, where);
      } else {
        for_each_index(workspace.executor(), static_cast<std::uint64_t>(count), GatherWindows<1, Index, T>{tile, x, rows}, where);
      }
    });
    return rows;
  }

  /// Calls `body` with a number of the type that places of `count` elements are computed in.
  template <class Body>
  static void with_index(std::int64_t count, Body&& body) {
    if (count < INT32_MAX) {
      body(std::uint32_t{0});
    } else {
      body(std::uint64_t{0});
    }
  }

  /// C = A B [+ C], by cuBLASLt where it multiplies these types.
  template <class A, class B, class C>
  static void product(Workspace<CudaExecutor>& workspace, std::string_view op, const GemmShape& gemm, const A* a, const B* b,
                      C* c, bool add, const Layout& layout, const std::source_location& where) {
    const C* const none = nullptr;
    if (multiply_once_rounded(workspace, op, gemm, a, b, none, c, add, layout.product, where)) return;
    plain_multiply(workspace.executor(), op, gemm, a, b, none, c, add, where);
  }
};

}  // namespace mezzo::detail::cublas
