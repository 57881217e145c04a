// Small kernels with one fault each, which a sanitizer must find, and the same without it, which it must not.
//   planted <out_of_bounds|race|uninitialised|barrier|clean>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

namespace {

constexpr int threads = 64;

/// memcheck: with `move` 1 the last thread writes one element beyond the end.
__global__ void write(int* to, int move) { to[threadIdx.x + static_cast<unsigned>(move)] = 1; }

/// racecheck: without the barrier a thread of one warp reads what one of the other is writing.
__global__ void exchange(int* to, bool barrier) {
  __shared__ int values[threads];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (barrier) __syncthreads();
  to[threadIdx.x] = values[(threadIdx.x + threads / 2) % threads];
}

/// initcheck: `from` must have been written before.
__global__ void copy(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }

/// synccheck: the two warps of the block meet at different barriers.
__global__ void meet_elsewhere(int* to) {
  __shared__ int values[threads];
  const unsigned i = threadIdx.x;
  if (i < threads / 2) {
    values[i] = static_cast<int>(i);
    __syncthreads();
    to[i] = values[i + threads / 2];
  } else {
    values[i] = static_cast<int>(2 * i);
    __syncthreads();
    to[i] = 3 * values[i - threads / 2] + 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const fault = argc == 2 ? argv[1] : "";
  const auto is = [fault](const char* name) { return std::strcmp(fault, name) == 0; };
  int* from = nullptr;
  int* to = nullptr;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 77;
  if (cudaMalloc(&from, threads * sizeof(int)) != cudaSuccess || cudaMalloc(&to, threads * sizeof(int)) != cudaSuccess) return 1;
  if (is("out_of_bounds")) {
    write<<<1, threads>>>(to, 1);
  } else if (is("race")) {
    exchange<<<1, threads>>>(to, false);
  } else if (is("uninitialised")) {
    copy<<<1, threads>>>(from, to);
  } else if (is("barrier")) {
    meet_elsewhere<<<1, threads>>>(to);
  } else if (is("clean")) {
    write<<<1, threads>>>(to, 0);
    exchange<<<1, threads>>>(to, true);
    if (cudaMemset(from, 1, threads * sizeof(int)) != cudaSuccess) return 1;
    copy<<<1, threads>>>(from, to);
  } else {
    std::puts("planted <out_of_bounds|race|uninitialised|barrier|clean>");
    return 2;
  }
  static_cast<void>(cudaDeviceSynchronize());  // memcheck lets the program see its fault; the exit code is the tool's to set
  static_cast<void>(cudaFree(from));
  static_cast<void>(cudaFree(to));
  return 0;
}
