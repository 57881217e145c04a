#pragma once
// Addition on CUDA: one pass.

#include <mezzo/ops/cuda/detail/map.cuh>
#include <mezzo/ops/detail/elementwise.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/promote.hpp>

namespace mezzo::detail {

namespace device {

template <class R>
struct Sum {
  template <class A, class B>
  __device__ R operator()(A a, B b) const {
    return sum_of<R>(a, b);
  }
};

}  // namespace device

template <>
struct Backend<CudaExecutor, op::add> {
  template <class A, class B, class Y>
  static void run(Workspace<CudaExecutor>& workspace, const OpSite& site, std::int64_t count, const A* a, const B* b, Y* y) {
    device::map(workspace.executor(), site, count, device::Sum<Y>{}, y, a, b);
  }
};

}  // namespace mezzo::detail
