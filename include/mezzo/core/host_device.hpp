#pragma once
// Annotations for functions that run on the host and on the device alike.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define MEZZO_HOST_DEVICE __host__ __device__
#else
#define MEZZO_HOST_DEVICE
#endif

/// Put before a function template that calls what the user hands it: the call may be host-only, and nvcc must not warn.
#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#define MEZZO_EXEC_CHECK_DISABLE _Pragma("nv_exec_check_disable")
#else
#define MEZZO_EXEC_CHECK_DISABLE
#endif

#if !defined(__CUDACC_RTC__) && (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "mezzo: C++20 required. Compile with -std=c++20 (g++, clang++, nvcc)."
#endif
#if !defined(__CUDACC_RTC__) && defined(__has_include)
#if !__has_include(<cuda/std/span>)
#error "mezzo: the CUDA Toolkit's C++ headers (cuda/std) must be on the include path: add -I<toolkit>/include, and -I<toolkit>/include/cccl since CUDA 13."
#endif
#endif
