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
  /// out[i] = value[i] where gate[i] passes, else 0.
  template <class T, class Gate>
  static void gated(Workspace<CudaExecutor>& workspace, std::int64_t count, const T* value, const Gate* gate, T* out) {
    if (static_cast<const void*>(value) == static_cast<const void*>(gate)) {
      device::map(workspace.executor(), "relu", count, device::Relu{}, out, value);
    } else {
      device::map(workspace.executor(), "relu_backward", count, device::ReluGated{}, out, value, gate);
    }
  }
};

}  // namespace mezzo::detail
