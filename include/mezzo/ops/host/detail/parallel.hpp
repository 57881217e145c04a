#pragma once
// Threads of the host back end: OpenMP's where the user compiles with it, else the calling thread.

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace mezzo::detail::host {

/// Threads that a loop may use. Results never depend on it: work is cut by the shape alone.
inline std::int64_t threads() {
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Calls `body(i, slot)` for every i in [0, count). Calls that run at the same time have different slots in [0, slots).
template <class Body>
void parallel_for(std::int64_t count, [[maybe_unused]] std::int64_t slots, Body&& body) {
#ifdef _OPENMP
  if (slots > 1 && count > 1) {
#pragma omp parallel for schedule(dynamic) num_threads(static_cast<int>((std::min)(slots, count)))
    for (std::int64_t i = 0; i < count; ++i) body(i, static_cast<std::int64_t>(omp_get_thread_num()));
    return;
  }
#endif
  for (std::int64_t i = 0; i < count; ++i) body(i, std::int64_t{0});
}

/// Element-wise work in pieces of a fixed size: `body(begin, end)`.
template <class Body>
void parallel_pieces(std::int64_t count, std::int64_t piece, Body&& body) {
  parallel_for((count + piece - 1) / piece, threads(),
               [&](std::int64_t i, std::int64_t) { body(i * piece, (std::min)(count, (i + 1) * piece)); });
}

}  // namespace mezzo::detail::host
