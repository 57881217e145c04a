#pragma once
// What the CUDA back ends keep in a workspace besides its scratch: a little device memory that outlives a call.

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <mezzo/core/error.hpp>
#include <mezzo/executor/cuda.hpp>
#include <mezzo/executor/memory.hpp>
#include <mezzo/ops/workspace.hpp>

namespace mezzo::detail::device {

/// Whether the executor's stream is being captured in a graph.
inline bool is_capturing(const CudaExecutor& executor, const std::source_location& where) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(executor.stream(), &status), "cudaStreamIsCapturing", where);
  return status != cudaStreamCaptureStatusNone;
}

/// Refuses to plan, which allocates and waits, while the stream is being captured.
inline void refuse_capture(const CudaExecutor& executor, std::string_view op, const std::source_location& where) {
  if (is_capturing(executor, where)) {
    fail<StateError>(
        where, op,
        "plans must be made before the stream is captured in a graph: call the op's prepare function "
        "(conv2d_prepare, matmul_prepare, linear_prepare, batch_norm_prepare, softmax_cross_entropy_prepare), or run "
        "it once with these shapes and types, before the capture begins");
  }
}

/// Counters that kernels leave at zero, and room for the partial sums of ops that take no scratch.
class State {
 public:
  static constexpr std::uint32_t ticket_count = 4096;
  static constexpr std::uint32_t partial_count = 1024;

  /// Partial results of a loss.
  struct Partial {
    double sum;
    std::int64_t count;
  };

  State(const CudaExecutor& executor, std::string_view op, const std::source_location& where) {
    refuse_capture(executor, op, where);
    memory_ = Memory(executor, ticket_count * sizeof(std::uint32_t) + partial_count * sizeof(Partial), where);
    executor.fill(memory_.data(), std::byte{0}, memory_.size(), where);
  }

  [[nodiscard]] std::uint32_t* tickets() const noexcept { return reinterpret_cast<std::uint32_t*>(memory_.data()); }
  [[nodiscard]] Partial* partials() const noexcept {
    return reinterpret_cast<Partial*>(memory_.data() + ticket_count * sizeof(std::uint32_t));
  }

 private:
  Memory memory_;
};

/// The workspace's state, made at the first call. @throws StateError when that would be during a capture.
inline State& state_of(Workspace<CudaExecutor>& workspace, std::string_view op, const std::source_location& where) {
  return workspace.kept<State>(workspace.executor(), op, where);
}

}  // namespace mezzo::detail::device
