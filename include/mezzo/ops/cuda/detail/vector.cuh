#pragma once
// Several neighbouring elements at a time, in 16-byte accesses.

#include <cstdint>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/detail/elementwise.hpp>

namespace mezzo::detail::device {

/// Elements that a thread takes at a time where pointers and sizes allow: 16 bytes of a 16-bit type.
inline constexpr int vector_width = 8;

/// Whether 16-byte accesses at this address are allowed; a null pointer, which nobody reads, counts as aligned.
inline bool is_aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

/// value where a rectifier lets `gate` pass, +0 elsewhere.
template <class T, class Gate>
__device__ __forceinline__ T relu_gated(T value, Gate gate) {
  using Bits = typename element_traits<T>::bits_type;
  return from_bits<T>(relu_mask<Gate>(to_bits(gate)) != 0 ? to_bits(value) : Bits{0});
}

/// Reads N elements; for N > 1 from an address aligned to min(16, their size).
template <int N, class T>
__device__ __forceinline__ void load_vector(const T* from, T (&to)[N]) {
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  if constexpr (N == 1) {
    to[0] = from[0];
  } else if constexpr (bytes == 8) {
    const uint2 word = *reinterpret_cast<const uint2*>(from);
    __builtin_memcpy(to, &word, bytes);
  } else {
    static_assert(bytes % 16 == 0);
    uint4 words[bytes / 16];
#pragma unroll
    for (int w = 0; w < bytes / 16; ++w) words[w] = reinterpret_cast<const uint4*>(from)[w];
    __builtin_memcpy(to, words, bytes);
  }
}

/// Writes N elements to an address aligned as above.
template <int N, class T>
__device__ __forceinline__ void store_vector(T* to, const T (&from)[N]) {
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  if constexpr (N == 1) {
    to[0] = from[0];
  } else if constexpr (bytes == 8) {
    uint2 word;
    __builtin_memcpy(&word, from, bytes);
    *reinterpret_cast<uint2*>(to) = word;
  } else {
    static_assert(bytes % 16 == 0);
    uint4 words[bytes / 16];
    __builtin_memcpy(words, from, bytes);
#pragma unroll
    for (int w = 0; w < bytes / 16; ++w) reinterpret_cast<uint4*>(to)[w] = words[w];
  }
}

/// Reads N elements that other blocks of this launch have written: from the L2 cache, past the L1.
template <int N, class T>
__device__ __forceinline__ void load_fresh(const T* from, T (&to)[N]) {
  constexpr int bytes = N * static_cast<int>(sizeof(T));
  if constexpr (bytes % 16 == 0) {
    uint4 words[bytes / 16];
#pragma unroll
    for (int w = 0; w < bytes / 16; ++w) words[w] = __ldcg(reinterpret_cast<const uint4*>(from) + w);
    __builtin_memcpy(to, words, bytes);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = __ldcg(from + i);
  }
}

/// Whether the calling block is the last of `blocks` to get here. It then sees what the others stored before; the ticket is
/// zero again for the next launch. Every thread of the block must call it.
__device__ __forceinline__ bool is_last_block(std::uint32_t* ticket, std::uint32_t blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1U) == blocks - 1;
    if (last) *ticket = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace mezzo::detail::device
