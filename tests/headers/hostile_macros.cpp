// Names that system headers define as macros, defined after everything that is not ours and before our headers.
#include <bits/stdc++.h>

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/concepts>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>
#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cuda/atomic>
#if __has_include(<cudnn_frontend.h>)
#include <cudnn_frontend.h>
#endif
#endif
#if __has_include(<cblas.h>)
#include <cblas.h>
#endif
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#if __has_include(<sys/mman.h>)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#define min(a, b) ((a) < (b) ? (a) : (b))  // windows.h
#define max(a, b) ((a) > (b) ? (a) : (b))
#define small char                         // rpcndr.h
#define I _Complex_I                       // complex.h

#include MEZZO_ALL_HEADERS

int main() {}
