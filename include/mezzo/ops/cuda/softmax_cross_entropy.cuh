#pragma once
// Softmax cross-entropy on CUDA: one launch, a warp for each row; the last block sums the rows' losses in a fixed order.
//
// A label out of range cannot be refused without waiting for the device: it makes the loss and its row's gradient NaN.

#include <algorithm>
#include <cstdint>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/cuda/detail/state.hpp>
#include <mezzo/ops/cuda/detail/vector.cuh>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/loss_multiplier.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/named_spans.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/float32.hpp>

namespace mezzo::detail {

namespace device {

inline constexpr std::uint32_t loss_warps = 8;
inline constexpr std::uint32_t full_warp = 0xffffffffU;

template <class T, class Label, class Real, class G>
struct LossOperands {
  std::int64_t batch;
  std::int64_t classes;
  const T* logits;
  const Label* labels;
  G* gradient;            ///< null: only the result is wanted
  Real* loss;             ///< may be null
  std::int32_t* correct;  ///< may be null
  double rows;            ///< that the mean is taken over
  bool add;
  State::Partial* partials;
  std::uint32_t* ticket;
};

__device__ __forceinline__ float exponential(float value) { return expf(value); }
__device__ __forceinline__ double exponential(double value) { return ::exp(value); }
__device__ __forceinline__ float logarithm(float value) { return logf(value); }
__device__ __forceinline__ double logarithm(double value) { return ::log(value); }

/// Loss of one row, in every lane, and whether its largest logit is the label's.
template <class Real>
struct RowLoss {
  Real loss;
  bool correct;
};

template <class T, class Label, class Real, class G>
__device__ __forceinline__ RowLoss<Real> loss_of_row(const LossOperands<T, Label, Real, G>& operands, std::int64_t row,
                                                     Real factor) {
  const std::int64_t classes = operands.classes;
  const T* const values = operands.logits + row * classes;
  const auto lane = static_cast<std::int64_t>(threadIdx.x % 32);
  const auto label = static_cast<std::int64_t>(operands.labels[row]);
  const bool valid = label >= 0 && label < classes;
  // Negative infinity in every lane that has no class of its own: it is never the first largest.
  Real largest = lane < classes ? convert<Real>(values[lane]) : convert<Real>(from_bits<float>(0xff800000U));
  std::int64_t best = lane < classes ? lane : classes;
  for (std::int64_t i = lane + 32; i < classes; i += 32) {
    const Real value = convert<Real>(values[i]);
    if (value > largest) largest = value, best = i;
  }
#pragma unroll
  for (int offset = 16; offset != 0; offset /= 2) {
    const Real other = __shfl_xor_sync(full_warp, largest, offset);
    const std::int64_t other_best = __shfl_xor_sync(full_warp, best, offset);
    if (other > largest || (other == largest && other_best < best)) largest = other, best = other_best;
  }
  Real sum{0};
  for (std::int64_t i = lane; i < classes; i += 32) sum += exponential(convert<Real>(values[i]) - largest);
#pragma unroll
  for (int offset = 16; offset != 0; offset /= 2) sum += __shfl_xor_sync(full_warp, sum, offset);
  const Real nan = convert<Real>(from_bits<float>(0x7fc00000U));
  const Real at_label = valid ? convert<Real>(values[label]) : nan;
  const Real loss = logarithm(sum) - (at_label - largest);
  if (operands.gradient != nullptr) {
    G* const gradient = operands.gradient + row * classes;
    __syncwarp();  // the gradient may be stored where the label's logit was read
    for (std::int64_t i = lane; i < classes; i += 32) {
      const Real probability = exponential(convert<Real>(values[i]) - largest) / sum;
      const Real target = i == label ? Real{1} : Real{0};
      gradient[i] = convert<G>(valid ? (probability - target) * factor : nan);
    }
  }
  return {loss, best == label};
}

template <class T, class Label, class Real, class G, class Multiplier>
__global__ void __launch_bounds__(32 * loss_warps)
    cross_entropy_kernel(const __grid_constant__ LossOperands<T, Label, Real, G> operands,
                         const __grid_constant__ Multiplier multiplier) {
  __shared__ double losses[loss_warps * 32];
  __shared__ std::int64_t hits[loss_warps * 32];
  const std::uint32_t warp = threadIdx.x / 32;
  // One factor, rounded once: with a power of two as the scale it is exactly that power times the unscaled one.
  const Real factor = static_cast<Real>(static_cast<double>(multiplier_of(multiplier)) / operands.rows);
  double loss = 0;
  std::int64_t correct = 0;
  for (std::int64_t row = std::int64_t{blockIdx.x} * loss_warps + warp; row < operands.batch;
       row += std::int64_t{gridDim.x} * loss_warps) {
    const RowLoss<Real> result = loss_of_row(operands, row, factor);
    loss += static_cast<double>(result.loss);
    correct += result.correct ? 1 : 0;
  }
  if (threadIdx.x % 32 == 0) losses[warp] = loss, hits[warp] = correct;
  __syncthreads();
  if (threadIdx.x == 0) {
    State::Partial partial{0, 0};
    for (std::uint32_t w = 0; w < loss_warps; ++w) partial.sum += losses[w], partial.count += hits[w];
    operands.partials[blockIdx.x] = partial;
  }
  if (!is_last_block(operands.ticket, gridDim.x)) return;
  loss = 0;
  correct = 0;
  for (std::uint32_t b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
    loss += __ldcg(&operands.partials[b].sum);
    correct += __ldcg(reinterpret_cast<const long long*>(&operands.partials[b].count));
  }
  losses[threadIdx.x] = loss;
  hits[threadIdx.x] = correct;
  for (std::uint32_t offset = blockDim.x / 2; offset != 0; offset /= 2) {
    __syncthreads();
    if (threadIdx.x < offset) {
      losses[threadIdx.x] += losses[threadIdx.x + offset];
      hits[threadIdx.x] += hits[threadIdx.x + offset];
    }
  }
  if (threadIdx.x != 0) return;
  if (operands.loss != nullptr) {
    const double mean = operands.batch != 0 ? losses[0] / operands.rows : 0;
    *operands.loss = static_cast<Real>((operands.add ? static_cast<double>(*operands.loss) : 0) + mean);
  }
  if (operands.correct != nullptr) {
    *operands.correct = (operands.add ? *operands.correct : 0) + static_cast<std::int32_t>(hits[0]);
  }
}

}  // namespace device

template <>
struct Backend<CudaExecutor, op::cross_entropy> {
  /// There is nothing to plan; this makes the counters and the room for partial sums.
  static void prepare(Workspace<CudaExecutor>& workspace, const OpSite& site) {
    static_cast<void>(device::state_of(workspace, site.op, site.where));
  }

  /// `gradient` may be null: only the result is wanted.
  template <class T, class Label, class Real, class G, class Multiplier>
  static void run(Workspace<CudaExecutor>& workspace, const ClassificationShape& shape, const T* logits, const Label* labels,
                  const LossResult<Real>& result, G* gradient, const Multiplier& multiplier, Accumulate accumulate,
                  const OpSite& site) {
    const device::State& state = device::state_of(workspace, site.op, site.where);
    const std::int64_t wanted = (shape.batch + device::loss_warps - 1) / device::loss_warps;
    const auto blocks = static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 1, device::State::partial_count));
    const device::LossOperands<T, Label, Real, G> operands{
        .batch = shape.batch,
        .classes = shape.classes,
        .logits = logits,
        .labels = labels,
        .gradient = gradient,
        .loss = result.loss.size() != 0 ? result.loss.data() : nullptr,
        .correct = result.correct.size() != 0 ? result.correct.data() : nullptr,
        .rows = static_cast<double>(shape.mean_over != 0 ? shape.mean_over : shape.batch),
        .add = accumulate == Accumulate::yes,
        .partials = state.partials(),
        .ticket = state.tickets()};
    launch(workspace.executor(), site.op, &device::cross_entropy_kernel<T, Label, Real, G, Multiplier>, blocks,
           32 * device::loss_warps, site.where, operands, multiplier);
  }
};

}  // namespace mezzo::detail
