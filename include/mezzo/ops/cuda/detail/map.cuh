#pragma once
// Element-wise work: out[i] = f(in[i]...), at the speed of the memory.

#include <algorithm>
#include <cstdint>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/ops/cuda/detail/vector.cuh>
#include <mezzo/ops/detail/checks.hpp>

namespace mezzo::detail::device {

inline constexpr std::uint32_t map_threads = 256;
inline constexpr int map_unroll = 4;  // vectors of each operand in flight for a thread

/// What a thread has in flight of one operand.
template <int N, class T>
struct InFlight {
  T values[map_unroll][N];
};

template <int N, class Functor, class Out, class... In>
__device__ __forceinline__ void map_vectors(std::int64_t base, std::int64_t vectors, const Functor& functor, Out* out,
                                            const In*... in, InFlight<N, In>... operands) {
#pragma unroll
  for (int u = 0; u < map_unroll; ++u) {
    const std::int64_t vector = base + u * std::int64_t{map_threads};
    if (vector < vectors) (load_vector<N>(in + vector * N, operands.values[u]), ...);
  }
#pragma unroll
  for (int u = 0; u < map_unroll; ++u) {
    const std::int64_t vector = base + u * std::int64_t{map_threads};
    if (vector >= vectors) continue;
    Out results[N];
#pragma unroll
    for (int i = 0; i < N; ++i) results[i] = functor(operands.values[u][i]...);
    store_vector<N>(out + vector * N, results);
  }
}

template <int N, class Functor, class Out, class... In>
__global__ void __launch_bounds__(map_threads) map_kernel(std::int64_t count, const Functor functor, Out* out, const In*... in) {
  const std::int64_t vectors = count / N;
  const std::int64_t step = std::int64_t{gridDim.x} * (map_threads * map_unroll);
  for (std::int64_t base = std::int64_t{blockIdx.x} * (map_threads * map_unroll) + threadIdx.x; base < vectors; base += step) {
    map_vectors<N, Functor, Out, In...>(base, vectors, functor, out, in..., InFlight<N, In>{}...);
  }
  if constexpr (N > 1) {  // what fills no vector
    const std::int64_t tail = vectors * N + threadIdx.x;
    if (blockIdx.x == 0 && tail < count) out[tail] = functor(in[tail]...);
  }
}

/// Queues out[i] = functor(in[i]...) for i in [0, count). An operand may be `out` itself.
template <class Functor, class Out, class... In>
void map(const CudaExecutor& executor, const OpSite& site, std::int64_t count, const Functor& functor, Out* out,
         const In*... in) {
  const bool aligned = is_aligned(out) && (is_aligned(in) && ...);
  const std::int64_t vectors = aligned ? std::max<std::int64_t>(count / vector_width, 1) : count;
  const std::int64_t wanted = (vectors + map_threads * map_unroll - 1) / (map_threads * map_unroll);
  const auto blocks = static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 1, 1 << 30));
  if (aligned) {
    launch(executor, site.op, &map_kernel<vector_width, Functor, Out, In...>, blocks, map_threads, site.where, count, functor,
           out, in...);
  } else {
    launch(executor, site.op, &map_kernel<1, Functor, Out, In...>, blocks, map_threads, site.where, count, functor, out, in...);
  }
}

}  // namespace mezzo::detail::device
