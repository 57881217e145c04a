#pragma once
// ReLU on CUDA: one pass.

#include <mezzo/ops/cuda/detail/map.cuh>
#include <mezzo/ops/detail/elementwise.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

namespace device {

struct ReluGated {
  template <class T, class Gate>
  __device__ T operator()(T value, Gate gate) const {
    return relu_gated(value, gate);
  }
};

struct Relu {
  template <class T>
  __device__ T operator()(T value) const {
    return relu_gated(value, value);
  }
};

}  // namespace device

template <>
struct Backend<CudaExecutor, op::relu> {
  template <class T>
  static void forward(Workspace<CudaExecutor>& workspace, const OpSite& site, std::int64_t count, const T* x, T* y) {
    device::map(workspace.executor(), site, count, device::Relu{}, y, x);
  }

  /// dx[i] = dy[i] where y[i] passes, else 0.
  template <class T, class Gate>
  static void backward(Workspace<CudaExecutor>& workspace, const OpSite& site, std::int64_t count, const T* dy, const Gate* y,
                       T* dx) {
    device::map(workspace.executor(), site, count, device::ReluGated{}, dx, dy, y);
  }
};

}  // namespace mezzo::detail
