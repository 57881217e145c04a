#pragma once
// The element types: the toolkit's own, under the names the field uses.
//
// Library code uses none of their operators or implicit conversions, so it also compiles where the user has switched them
// off (`__CUDA_NO_HALF_OPERATORS__`, `__CUDA_NO_HALF_CONVERSIONS__` and their kin).

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <mezzo/core/type_traits.hpp>

namespace mezzo {

using float16 = __half;                ///< IEEE binary16: 5 exponent bits, 10 fraction bits
using bfloat16 = __nv_bfloat16;        ///< the upper half of a float: 8 exponent bits, 7 fraction bits
using float8_e4m3 = __nv_fp8_e4m3;     ///< OCP E4M3 ("fn"): no infinity, NaN is S.1111.111, largest 448
using float8_e5m2 = __nv_fp8_e5m2;     ///< OCP E5M2: IEEE-like, with infinities, largest 57,344

/// The element type as a value: what a chunk table or a file stores where a template argument is out of reach.
enum class ElementType : stdlib::uint8_t { f16, bf16, f8_e4m3, f8_e5m2, f32, f64 };

}  // namespace mezzo
