#pragma once
// GEMM of the system's CBLAS, for float and double.

#include <cstdint>

#include <mezzo/ops/shapes.hpp>

#if __has_include(<cblas.h>)
#define MEZZO_HAS_CBLAS 1
// OpenBLAS has a global type of this name; a user's `using namespace mezzo` would make it ambiguous.
#define bfloat16 openblas_bfloat16
#include <cblas.h>
#undef bfloat16

namespace mezzo::detail::host {

/// C = A B + beta C on row-major matrices with these distances between rows.
inline void gemm(const GemmShape& shape, const float* a, std::int64_t a_row, const float* b, std::int64_t b_row, float beta,
                 float* c, std::int64_t c_row) {
  cblas_sgemm(CblasRowMajor, shape.transpose_a == Transpose::yes ? CblasTrans : CblasNoTrans,
              shape.transpose_b == Transpose::yes ? CblasTrans : CblasNoTrans, static_cast<int>(shape.m), static_cast<int>(shape.n),
              static_cast<int>(shape.k), 1.f, a, static_cast<int>(a_row), b, static_cast<int>(b_row), beta, c,
              static_cast<int>(c_row));
}

inline void gemm(const GemmShape& shape, const double* a, std::int64_t a_row, const double* b, std::int64_t b_row, double beta,
                 double* c, std::int64_t c_row) {
  cblas_dgemm(CblasRowMajor, shape.transpose_a == Transpose::yes ? CblasTrans : CblasNoTrans,
              shape.transpose_b == Transpose::yes ? CblasTrans : CblasNoTrans, static_cast<int>(shape.m), static_cast<int>(shape.n),
              static_cast<int>(shape.k), 1., a, static_cast<int>(a_row), b, static_cast<int>(b_row), beta, c,
              static_cast<int>(c_row));
}

}  // namespace mezzo::detail::host

#else
#define MEZZO_HAS_CBLAS 0
#endif
