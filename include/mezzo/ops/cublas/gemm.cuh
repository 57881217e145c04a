#pragma once
// Matrix products on CUDA: cuBLASLt, summed in float (double for double), rounded once.
//
// Types that it does not multiply run on a simple kernel. Link with cuBLASLt (CMake target mezzo::cublas).

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/cublas/detail/plain_gemm.cuh>
#include <mezzo/ops/cublas/detail/product.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/lower_precision.hpp>

namespace mezzo::detail {

namespace cublas {

/// Whether cuBLASLt multiplies these types, in the precision that the ops promise.
template <class A, class B, class C>
inline constexpr bool multiplies = std::is_same_v<A, B> && ((SixteenBit<A> && (std::is_same_v<C, A> || std::is_same_v<C, float>)) ||
                                                            (FullPrecision<A> && std::is_same_v<C, A>));

/// Bytes of the unrounded product, for a bias that is not of C's type; rounded up to what cuBLAS wants aligned.
inline std::size_t sum_bytes(const GemmShape& shape) {
  return (static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.n) * sizeof(float) + 255) / 256 * 256;
}

/// The largest such product that `matmul_workspace_bytes` provides for.
inline constexpr std::size_t most_sum_bytes = std::size_t{64} << 20;

}  // namespace cublas

template <>
struct Backend<CudaExecutor, op::matmul> {
  /// Scratch for operands of type T. With less, also with none, fewer kernels are there to choose from.
  template <class T>
  static std::size_t workspace_bytes(const CudaExecutor&, const GemmShape& shape) {
    const std::size_t sums = SixteenBit<T> ? cublas::sum_bytes(shape) : 0;
    return cublas::recommended_scratch + 256 + (sums <= cublas::most_sum_bytes ? sums : 0);
  }

  /// Plans the product with results in T and float, with and without bias, for operands aligned to 16 bytes.
  template <class T>
  static void prepare(Workspace<CudaExecutor>& workspace, const GemmShape& shape, const std::source_location& where) {
    device::refuse_capture(workspace.executor(), "matmul_prepare", where);
    if constexpr (cublas::multiplies<T, T, T>) {
      if (shape.m == 0 || shape.n == 0 || shape.k == 0) return;
      plan<T, T>(workspace, shape, workspace_from(workspace, 0), where);
      if constexpr (SixteenBit<T>) {
        plan<T, float>(workspace, shape, workspace_from(workspace, 0), where);
        if (cublas::sum_bytes(shape) <= workspace.bytes()) {
          plan<T, float>(workspace, shape, workspace_from(workspace, cublas::sum_bytes(shape)), where);
        }
      }
    }
  }

  template <class A, class B, class Bias, class C>
  static void run(Workspace<CudaExecutor>& workspace, std::string_view op, const GemmShape& shape, const A* a, const B* b,
                  const Bias* bias, C* c, Accumulate accumulate, const std::source_location& where) {
    const bool add = accumulate == Accumulate::yes;
    if constexpr (cublas::multiplies<A, B, C>) {
      if (shape.k != 0) {
        if constexpr (std::is_same_v<Bias, C>) {
          if (cublas::multiply(workspace, op, shape, a, b, bias, c, add, workspace_from(workspace, 0), where)) return;
        } else if (bias == nullptr) {
          const C* const none = nullptr;
          if (cublas::multiply(workspace, op, shape, a, b, none, c, add, workspace_from(workspace, 0), where)) return;
        } else if constexpr (SixteenBit<C>) {
          const std::size_t sums = cublas::sum_bytes(shape);
          if (!add && sums <= workspace.bytes()) {
            float* const sum = reinterpret_cast<float*>(workspace.scratch(sums, op, where));
            const float* const none = nullptr;
            if (cublas::multiply(workspace, op, shape, a, b, none, sum, false, workspace_from(workspace, sums), where)) {
              for_each_index(workspace.executor(), static_cast<std::uint64_t>(shape.m * shape.n),
                             cublas::AddBias<Bias, C>{shape.n, sum, bias, c}, where);
              return;
            }
          }
        }
      }
    }
    cublas::plain_multiply(workspace.executor(), shape, a, b, bias, c, add, where);
  }

 private:
  /// The scratch from byte `used` on.
  static cublas::ProductScratch workspace_from(const Workspace<CudaExecutor>& workspace, std::size_t used) {
    if (workspace.bytes() <= used) return {nullptr, 0};
    return {workspace.scratch(used, "matmul", std::source_location::current()) + used, workspace.bytes() - used};
  }

  template <class T, class C>
  static void plan(Workspace<CudaExecutor>& workspace, const GemmShape& shape, const cublas::ProductScratch& scratch,
                   const std::source_location& where) {
    cublas::Products& products = cublas::products_of(workspace, "matmul_prepare", where);
    for (const bool bias : {false, true}) {
      static_cast<void>(products.plan(workspace.executor(),
                                      {.shape = shape,
                                       .a = cublas::data_type<T>(),
                                       .b = cublas::data_type<T>(),
                                       .c = cublas::data_type<C>(),
                                       .bias = bias,
                                       .math = float32_math(workspace),
                                       .scratch = scratch.bytes},
                                      "matmul_prepare", where));
    }
  }
};

}  // namespace mezzo::detail
