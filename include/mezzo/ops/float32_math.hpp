#pragma once
// How products of float32 operands are computed: exactly as float32, or in tf32 on tensor cores.

#include <mezzo/executor/executor.hpp>
#include <mezzo/ops/workspace.hpp>

namespace mezzo {

/// What matmul, linear and conv2d do with float32 operands. Sums are float32 in both.
enum class Float32Math : bool {
  ieee,  ///< products of the full 24-bit significands
  tf32   ///< operands are first rounded to 11-bit significands: several times faster, relative error up to 2^-10 a product
};

/// Sets it for the ops of this workspace, before they are prepared. Default: ieee. Executors without tf32 (the host)
/// compute in full precision whatever is set.
template <Executor Where>
void set_float32_math(Workspace<Where>& workspace, Float32Math math) {
  workspace.template kept<Float32Math>(Float32Math::ieee) = math;
}

/// What is set.
template <Executor Where>
[[nodiscard]] Float32Math float32_math(Workspace<Where>& workspace) {
  return workspace.template kept<Float32Math>(Float32Math::ieee);
}

}  // namespace mezzo
