#pragma once
// Planned matrix products: what cuBLASLt's heuristics chose for a shape, kept in the workspace.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <source_location>
#include <string_view>

#include <mezzo/ops/cublas/detail/lt.hpp>
#include <mezzo/ops/cuda/detail/scratch.hpp>
#include <mezzo/ops/cuda/detail/state.hpp>
#include <mezzo/ops/float32_math.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::cublas {

/// Everything that a choice of kernel depends on.
struct ProductKey {
  GemmShape shape;
  cudaDataType_t a, b, c;
  bool bias = false;        ///< a bias of c's type joins each row
  std::int64_t a_rows = 0;  ///< m of the whole of which a transposed `a` is a part
  Float32Math math = Float32Math::ieee;
  std::uint32_t alignment = 16;  ///< bytes that all operands are aligned to, at most 16
  std::size_t scratch = 0;       ///< bytes that a kernel may use

  [[nodiscard]] auto tied() const {
    return std::tuple(shape.m, shape.n, shape.k, shape.transpose_a, shape.transpose_b, a, b, c, bias, a_rows, math, alignment,
                      scratch);
  }
  friend bool operator<(const ProductKey& one, const ProductKey& other) { return one.tied() < other.tied(); }
};

struct ProductPlan {
  Owned<cublasLtMatmulDesc_t> description;
  Owned<cublasLtMatrixLayout_t> a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  bool found = false;  ///< false: cuBLASLt has no kernel for it
};

/// Row-major C = A B is column-major C^T = B^T A^T: cuBLAS's first operand is our second.
class Products {
 public:
  Products(const CudaExecutor& executor, std::string_view op, const std::source_location& where) {
    device::refuse_capture(executor, op, where);
    const DeviceGuard guard(executor.device(), where);
    handle_ = make_handle(where);
  }

  [[nodiscard]] cublasLtHandle_t handle() const noexcept { return handle_.get(); }

  /// The plan, made at the first call. @throws StateError when that would be during a capture.
  const ProductPlan& plan(const CudaExecutor& executor, const ProductKey& key, std::string_view op,
                          const std::source_location& where) {
    const auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
    device::refuse_capture(executor, op, where);
    const DeviceGuard guard(executor.device(), where);
    return plans_.emplace(key, make(key, where)).first->second;
  }

 private:
  [[nodiscard]] ProductPlan make(const ProductKey& key, const std::source_location& where) const {
    const bool in_double = key.c == CUDA_R_64F;
    const bool in_float = key.a == CUDA_R_32F;
    const cublasComputeType_t compute = in_double                                   ? CUBLAS_COMPUTE_64F
                                        : in_float && key.math == Float32Math::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                                    : CUBLAS_COMPUTE_32F;
    ProductPlan plan;
    cublasLtMatmulDesc_t description = nullptr;
    check(cublasLtMatmulDescCreate(&description, compute, in_double ? CUDA_R_64F : CUDA_R_32F), "cublasLtMatmulDescCreate",
          where);
    plan.description.reset(description);
    const bool first = key.shape.transpose_b == Transpose::yes;
    const bool second = key.shape.transpose_a == Transpose::yes;
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, first ? CUBLAS_OP_T : CUBLAS_OP_N, where);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, second ? CUBLAS_OP_T : CUBLAS_OP_N, where);
    if (key.bias) set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, where);
    const auto& [m, n, k, ta, tb] = key.shape;
    plan.b = first ? make_layout(key.b, k, n, where) : make_layout(key.b, n, k, where);
    plan.a = second ? make_layout(key.a, m, k, where, key.a_rows) : make_layout(key.a, k, m, where);
    plan.c = make_layout(key.c, n, m, where);

    cublasLtMatmulPreference_t created = nullptr;
    check(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate", where);
    const Owned<cublasLtMatmulPreference_t> preference(created);
    set(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{key.scratch}, where);
    // Parts of a split sum are added unrounded, and in a fixed order.
    set(created, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE),
        where);
    for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(created, operand, key.alignment, where);
    }
    cublasLtMatmulHeuristicResult_t result{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_.get(), description, plan.b.get(), plan.a.get(),
                                                                 plan.c.get(), plan.c.get(), created, 1, &result, &count);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic", where);
    plan.found = status == CUBLAS_STATUS_SUCCESS && count > 0;
    plan.algorithm = result.algo;
    return plan;
  }

  Owned<cublasLtHandle_t> handle_;
  std::map<ProductKey, ProductPlan> plans_;
};

inline Products& products_of(Workspace<CudaExecutor>& workspace, std::string_view op, const std::source_location& where) {
  return workspace.kept<Products>(workspace.executor(), op, where);
}

/// Bytes that an address is aligned to, at most 16; so many as a null pointer, which nobody reads, asks for.
inline std::uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  std::uint32_t alignment = 16;
  while (address % alignment != 0) alignment /= 2;
  return alignment;
}

/// The front of the scratch that a product may use: at most what cuBLAS recommends.
inline device::Scratch product_scratch(device::Scratch scratch) {
  constexpr std::size_t alignment = device::Scratch::alignment;
  scratch.bytes = (std::min)(scratch.bytes, recommended_scratch) / alignment * alignment;
  return scratch;
}

template <class A, class B, class C>
ProductKey product_key(Workspace<CudaExecutor>& workspace, const GemmShape& shape, const A* a, const B* b, const C* bias,
                       const C* c, const device::Scratch& scratch, std::int64_t a_rows) {
  return {.shape = shape,
          .a = data_type<A>(),
          .b = data_type<B>(),
          .c = data_type<C>(),
          .bias = bias != nullptr,
          .a_rows = a_rows,
          .math = float32_math(workspace),
          .alignment = (std::min)({alignment_of(a), alignment_of(b), alignment_of(c), alignment_of(bias)}),
          .scratch = scratch.bytes};
}

/// Queues a plan that was found.
template <class A, class B, class C>
void run(Workspace<CudaExecutor>& workspace, std::string_view op, const ProductPlan& plan, const A* a, const B* b, const C* bias,
         C* c, bool add, const device::Scratch& scratch, const std::source_location& where) {
  const CudaExecutor& executor = workspace.executor();
  const DeviceGuard guard(executor.device(), where);
  if (bias != nullptr) {
    const void* const pointer = bias;
    set(plan.description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer, where);
  }
  using Scale = std::conditional_t<std::is_same_v<C, double>, double, float>;
  const Scale alpha = 1;
  const Scale beta = add ? Scale{1} : Scale{0};
  check(
      cublasLtMatmul(products_of(workspace, op, where).handle(), plan.description.get(), &alpha, b, plan.b.get(), a, plan.a.get(),
                     &beta, c, plan.c.get(), c, plan.c.get(), &plan.algorithm, scratch.memory, scratch.bytes, executor.stream()),
      "cublasLtMatmul", where);
}

/// Queues C = A B [+ bias] [+ C]; nothing may join a 16-bit C here, see joined_product.cuh. Returns false, with nothing
/// queued, where cuBLASLt has no kernel for it. The types are those that `data_type` names; the bias, if any, has C's type.
template <class A, class B, class C>
bool multiply(Workspace<CudaExecutor>& workspace, std::string_view op, const GemmShape& shape, const A* a, const B* b,
              const C* bias, C* c, bool add, const device::Scratch& scratch, const std::source_location& where) {
  const ProductKey key = product_key(workspace, shape, a, b, bias, c, scratch, shape.m);
  const ProductPlan& plan = products_of(workspace, op, where).plan(workspace.executor(), key, op, where);
  if (plan.found) run(workspace, op, plan, a, b, bias, c, add, scratch, where);
  return plan.found;
}

}  // namespace mezzo::detail::cublas
