#pragma once
// What the tests of the CUDA side share: is there a device, streams of their own, memory that comes back by itself.

#include <cstring>
#include <memory>
#include <vector>

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <mezzo/executor/cuda.hpp>

#include "support/skip.hpp"

namespace mezzo::test {

inline int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

/// Leaves the test case as skipped where there is no GPU.
#define MEZZO_NEEDS_DEVICE() \
  if (::mezzo::test::device_count() == 0) MEZZO_SKIP("no CUDA device")

/// A CUDA call of the test's own that must succeed.
#define MEZZO_CUDA(call) REQUIRE_MESSAGE((call) == cudaSuccess, #call)

/// A stream of the test's own; it does not wait for the legacy default stream.
class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { MEZZO_CUDA(cudaStreamCreateWithFlags(&stream_, flags)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT: implicit on purpose
  void wait() const { MEZZO_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// [n] elements from cudaMalloc, as a user has them.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    void* memory = nullptr;
    if (size != 0) MEZZO_CUDA(cudaMalloc(&memory, size * sizeof(T)));
    memory_.reset(static_cast<T*>(memory));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { write(values); }

  [[nodiscard]] T* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] Span<T> span() const noexcept { return {data(), size_}; }

  void write(const std::vector<T>& values) const {
    REQUIRE(values.size() == size_);
    if (size_ == 0) return;
    MEZZO_CUDA(cudaMemcpy(data(), values.data(), bytes(), cudaMemcpyHostToDevice));
    MEZZO_CUDA(cudaDeviceSynchronize());  // the copy's own stream does not hold back non-blocking ones
  }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(size_);
    MEZZO_CUDA(cudaDeviceSynchronize());
    if (size_ != 0) MEZZO_CUDA(cudaMemcpy(values.data(), data(), bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_;
};

/// Whether two vectors hold the same bytes.
template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// A captured graph, ready to be replayed.
class Graph {
 public:
  /// Captures what `queue()` queues on `stream`, in the mode that forbids most.
  template <class Queue>
  Graph(cudaStream_t stream, Queue&& queue) : stream_(stream) {
    MEZZO_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    queue();
    MEZZO_CUDA(cudaStreamEndCapture(stream, &graph_));
    MEZZO_CUDA(cudaGraphInstantiate(&instance_, graph_, 0));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (instance_ != nullptr) static_cast<void>(cudaGraphExecDestroy(instance_));
    if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  }

  void replay() const { MEZZO_CUDA(cudaGraphLaunch(instance_, stream_)); }

  [[nodiscard]] std::vector<cudaGraphNodeType> nodes() const {
    std::size_t count = 0;
    MEZZO_CUDA(cudaGraphGetNodes(graph_, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    if (count != 0) MEZZO_CUDA(cudaGraphGetNodes(graph_, nodes.data(), &count));
    std::vector<cudaGraphNodeType> types(count);
    for (std::size_t i = 0; i < count; ++i) MEZZO_CUDA(cudaGraphNodeGetType(nodes[i], &types[i]));
    return types;
  }
  /// How many kernels the graph launches; fails the test where it holds anything else.
  [[nodiscard]] std::size_t kernels() const {
    const auto types = nodes();
    for (const cudaGraphNodeType type : types) CHECK(type == cudaGraphNodeTypeKernel);
    return types.size();
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t instance_ = nullptr;
};

}  // namespace mezzo::test
