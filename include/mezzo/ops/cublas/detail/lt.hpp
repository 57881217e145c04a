#pragma once
// cuBLASLt: its handle and descriptors as objects, its errors as exceptions.

#include <cstdint>
#include <memory>
#include <source_location>

#include <cublasLt.h>

#include <mezzo/core/error.hpp>
#include <mezzo/executor/cuda.hpp>
#include <mezzo/numeric/traits.hpp>

namespace mezzo::detail::cublas {

/// Scratch that cuBLAS's documentation recommends for this generation of GPUs.
inline constexpr std::size_t recommended_scratch = std::size_t{32} << 20;

inline void check(cublasStatus_t status, const char* call, const std::source_location& where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) fail<OutOfMemory>(where, call, cublasLtGetStatusString(status));
  fail<CudaError>(where, call, cublasLtGetStatusString(status), " (", cublasLtGetStatusName(status), ")");
}

/// cuBLAS's name of an element type that it multiplies.
template <Element T>
constexpr cudaDataType_t data_type() {
  if constexpr (stdlib::is_same_v<T, float16>) return CUDA_R_16F;
  if constexpr (stdlib::is_same_v<T, bfloat16>) return CUDA_R_16BF;
  if constexpr (stdlib::is_same_v<T, double>) return CUDA_R_64F;
  return CUDA_R_32F;
}

struct Destroy {
  void operator()(cublasLtHandle_t handle) const noexcept { static_cast<void>(cublasLtDestroy(handle)); }
  void operator()(cublasLtMatmulDesc_t description) const noexcept { static_cast<void>(cublasLtMatmulDescDestroy(description)); }
  void operator()(cublasLtMatrixLayout_t layout) const noexcept { static_cast<void>(cublasLtMatrixLayoutDestroy(layout)); }
  void operator()(cublasLtMatmulPreference_t preference) const noexcept {
    static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
  }
};
template <class Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy>;

inline Owned<cublasLtHandle_t> make_handle(const std::source_location& where) {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "cublasLtCreate", where);
  return Owned<cublasLtHandle_t>(handle);
}

/// A column-major matrix, as cuBLAS wants them; a column begins `distance` elements after the one before, by default `rows`.
inline Owned<cublasLtMatrixLayout_t> make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                                 const std::source_location& where, std::int64_t distance = 0) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                                   distance == 0 ? rows : distance),
        "cublasLtMatrixLayoutCreate", where);
  return Owned<cublasLtMatrixLayout_t>(layout);
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const Value& value,
         const std::source_location& where) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute", where);
}
template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value,
         const std::source_location& where) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute", where);
}

}  // namespace mezzo::detail::cublas
