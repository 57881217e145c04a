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
#include <mezzo/ops/cublas/detail/joined_product.cuh>
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
inline constexpr bool multiplies = std::is_same_v<A, B> &&
                                   ((SixteenBit<A> && (std::is_same_v<C, A> || std::is_same_v<C, float>)) ||
                                    (FullPrecision<A> && std::is_same_v<C, A>));

/// Queues C = A B [+ bias] [+ C], a bias or what C holds but not both, rounded once. Returns false, with nothing queued,
/// where cuBLASLt does not multiply these types or has no kernel.
template <class A, class B, class Bias, class C>
bool multiply_once_rounded(Workspace<CudaExecutor>& workspace, std::string_view op, const GemmShape& shape, const A* a,
                           const B* b, const Bias* bias, C* c, bool add, const device::Scratch& scratch,
                           const std::source_location& where) {
  if constexpr (!multiplies<A, B, C>) {
    return false;
  } else {
    const C* const none = nullptr;
    if (bias == nullptr && !(add && SixteenBit<C>)) return multiply(workspace, op, shape, a, b, none, c, add, scratch, where);
    if constexpr (SixteenBit<C>) {
      return multiply_joined(workspace, op, shape, a, b, bias, c, scratch, where);
    } else if constexpr (std::is_same_v<Bias, C>) {
      return multiply(workspace, op, shape, a, b, bias, c, add, scratch, where);
    } else {  // the sums are in C as they are, and the bias can follow
      if (!multiply(workspace, op, shape, a, b, none, c, false, scratch, where)) return false;
      for_each_index(workspace.executor(), static_cast<std::uint64_t>(shape.m * shape.n),
                     AddBias<C, Bias, C>{static_cast<std::uint64_t>(shape.n), c, bias, c}, where);
      return true;
    }
  }
}

}  // namespace cublas

template <>
struct Backend<CudaExecutor, op::matmul> {
  /// Scratch for operands of type T. With less, also with none, fewer kernels are there to choose from.
  template <class T>
  static std::size_t workspace_bytes(const CudaExecutor&, const GemmShape&) {
    return cublas::recommended_scratch + 256;
  }

  /// Plans the product with results in T and float, with and without bias, for operands aligned to 16 bytes.
  template <class T>
  static void prepare(Workspace<CudaExecutor>& workspace, const GemmShape& shape, const std::source_location& where) {
    device::refuse_capture(workspace.executor(), "matmul_prepare", where);
    if constexpr (cublas::multiplies<T, T, T>) {
      if (shape.m == 0 || shape.n == 0 || shape.k == 0) return;
      const device::Scratch scratch = scratch_of(workspace);
      plan<T, T>(workspace, shape, scratch, where);
      if constexpr (SixteenBit<T>) {
        plan<T, float>(workspace, shape, scratch, where);
        cublas::plan_joined<T>(workspace, "matmul_prepare", shape, scratch, where);
      }
    }
  }

  template <class A, class B, class Bias, class C>
  static void run(Workspace<CudaExecutor>& workspace, std::string_view op, const GemmShape& shape, const A* a, const B* b,
                  const Bias* bias, C* c, Accumulate accumulate, const std::source_location& where) {
    const bool add = accumulate == Accumulate::yes;
    if (shape.k != 0 && cublas::multiply_once_rounded(workspace, op, shape, a, b, bias, c, add, scratch_of(workspace), where))
      return;
    cublas::plain_multiply(workspace.executor(), op, shape, a, b, bias, c, add, where);
  }

 private:
  static device::Scratch scratch_of(const Workspace<CudaExecutor>& workspace) {
    return cublas::product_scratch({workspace.scratch(0, "matmul", std::source_location::current()), workspace.bytes()});
  }

  template <class T, class C>
  static void plan(Workspace<CudaExecutor>& workspace, const GemmShape& shape, const device::Scratch& scratch,
                   const std::source_location& where) {
    const T* const any = nullptr;
    const C* const none = nullptr;
    cublas::Products& products = cublas::products_of(workspace, "matmul_prepare", where);
    cublas::ProductKey key = cublas::product_key(workspace, shape, any, any, none, none, scratch, shape.m);
    static_cast<void>(products.plan(workspace.executor(), key, "matmul_prepare", where));
    if constexpr (SixteenBit<C>) return;  // a bias joins unrounded sums
    key.bias = true;
    static_cast<void>(products.plan(workspace.executor(), key, "matmul_prepare", where));
  }
};

}  // namespace mezzo::detail
