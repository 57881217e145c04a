// What the sources here share. -DLOW=<type> picks the data's type, -DHAND the hand-written variant; without it the policy one.
// -DPLANTED makes the policy variant compute something else, to see that the comparison notices.
#pragma once

#include <cstddef>

#ifdef HAND
#include <mezzo/numeric/convert.hpp>
#else
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/view.hpp>
#endif

using namespace mezzo;

#ifndef HAND
using Policy = Autocast<LOW>;

/// A pointer and a size as a range.
template <class T>
struct Data {
  using value_type = T;
  T* pointer;
  std::size_t count;
  MEZZO_HOST_DEVICE T* data() const { return pointer; }
  MEZZO_HOST_DEVICE T* begin() const { return pointer; }
  MEZZO_HOST_DEVICE std::size_t size() const { return count; }
};
#endif

#ifdef __CUDACC__
#define ENTRY extern "C" __global__
#define FUNCTION __device__
#define EACH(i, n) if (const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < (n))
#define EXP(x) expf(x)
#else
#define ENTRY extern "C"
#define FUNCTION
#define EACH(i, n) for (std::size_t i = 0; i < (n); ++i)
#define EXP(x) __builtin_expf(x)
#endif
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

#ifdef PLANTED
#define ONE 2.f
#else
#define ONE 1.f
#endif

#ifdef __CUDACC__
// The hand-written kernel knows nothing of mezzo: it converts with the toolkit's own functions, and widens bfloat16 by the
// shift that this is (the toolkit's function compiles to a longer softmax for sm_90).
__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __uint_as_float(unsigned{__bfloat16_as_ushort(x)} << 16); }
__device__ inline void narrow(float x, float& y) { y = x; }
__device__ inline void narrow(float x, __half& y) { y = __float2half_rn(x); }
__device__ inline void narrow(float x, __nv_bfloat16& y) { y = __float2bfloat16_rn(x); }
#else
// On the host the toolkit's functions are not inlined; by hand one would write mezzo's.
template <class T>
float to_float(T x) {
  return convert<float>(x);
}
template <class T>
void narrow(float x, T& y) {
  y = convert<T>(x);
}
#endif
