#pragma once
// The four passes of batch norm over data in NHWC: statistics, normalisation; gradient sums, gradient.
//
// ReLU and the addition of a shortcut join the second pass, their backward the third, so that they cost no pass of their
// own. The passes that write go through the data from its end to its start: what the pass before read last is still in
// the L2 cache.

#include <cstdint>

#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/cuda/detail/channel_sums.cuh>
#include <mezzo/ops/detail/elementwise.hpp>

namespace mezzo::detail::device {

/// What happens to the normalised value before it is stored.
enum class AfterNorm : std::uint8_t { nothing, relu, add_relu };

/// Where the backward pass learns which outputs ReLU let through.
enum class ReluMask : std::uint8_t {
  none,        ///< there was no ReLU
  recomputed,  ///< from x, in the forward pass's own arithmetic: the output need not be read
  from_output
};

/// Rows of a lane in flight, so that `streams` operands take 32 registers of raw data at most.
template <class T, int Streams>
inline constexpr int rows_in_flight = sizeof(T) * Streams <= 2
                                          ? 8
                                          : (sizeof(T) * Streams <= 4 ? 4 : (sizeof(T) * Streams <= 8 ? 2 : 1));

/// The same for the normalisation, which computes little: four at most.
template <class T, bool Adds>
inline constexpr int rows_of_normalise = rows_in_flight<T, Adds ? 2 : 1> < 4 ? rows_in_flight<T, Adds ? 2 : 1> : 4;

/// Spelled out, so that the backward pass gets the forward pass's bits again.
template <class Real>
__device__ __forceinline__ Real normalised(Real x, Real mean, Real factor, Real beta) {
  return exact::fma(exact::sub(x, mean), factor, beta);
}

/// One value for each of a thread's channels.
template <int N, class Real>
__device__ __forceinline__ void load_channels(const Real* from, std::int64_t channel, Real (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = from[channel + i];
}

// -- statistics ---------------------------------------------------------------------------------------------------------

template <class Real>
struct StatisticsOutput {
  Real* mean;
  Real* inv_std;
  Real* running_mean;  ///< null: not kept
  Real* running_variance;
  double epsilon;
  double momentum;
};

/// Moments of the rows of one chunk, taken about their own mean, joined to those so far.
template <bool Full, int N, int Rows, class T, class Real>
__device__ __forceinline__ void take_rows(const T (&raw)[Rows][N], int count, Moments<N, Real>& moments) {
  const Real here = Full ? Real{Rows} : static_cast<Real>(count);
  const Real inverse = Real{1} / here;
  const Real share = here / (moments.count + here);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    Real sum{0};
#pragma unroll
    for (int k = 0; k < Rows; ++k) {
      if (Full || k < count) sum += convert<Real>(raw[k][i]);
    }
    const Real mean = sum * inverse;
    Real squares{0};
#pragma unroll
    for (int k = 0; k < Rows; ++k) {
      if (Full || k < count) {
        const Real distance = convert<Real>(raw[k][i]) - mean;
        squares += distance * distance;
      }
    }
    moments.merge(i, share, mean, squares);
  }
  moments.count += here;
}

template <int N, class T, class Real>
__global__ void __launch_bounds__(channel_threads, channel_blocks_each)
    statistics_kernel(const __grid_constant__ ChannelTiles tiles, const T* x,
                      const __grid_constant__ ChannelPartials<Real> partials,
                      const __grid_constant__ StatisticsOutput<Real> out) {
  constexpr int rows = rows_in_flight<T, 1>;
  __shared__ BlockSums<N, Real> shared;
  const ChannelPlace<N> place(tiles);
  Moments<N, Real> moments;
  if (place.active) {
    for_each_chunk<rows, false>(tiles, place.block, place.lane, [&](std::int64_t first, int count) {
      T raw[rows][N];
      const T* const from = x + first * tiles.channels + place.channel;
      const std::int64_t step = std::int64_t{tiles.lanes} * tiles.channels;
      if (count == rows) {
#pragma unroll
        for (int k = 0; k < rows; ++k) load_vector<N>(from + k * step, raw[k]);
        take_rows<true>(raw, count, moments);
      } else {
#pragma unroll
        for (int k = 0; k < rows; ++k) {
          if (k < count) load_vector<N>(from + k * step, raw[k]);
        }
        take_rows<false>(raw, count, moments);
      }
    });
  }
  merge_lanes(tiles, place.lane, moments, shared.lanes);
  if (!store_partials<N>(tiles, place, moments.mean, moments.squares, partials)) return;

  // Means are summed as distances from the first block's, so that a common offset costs no digits.
  double offset[final_channels<N>];
  {
    constexpr int M = final_channels<N>;
    const std::uint32_t columns = tiles.width * N / M;
    const std::int64_t channel = (std::int64_t{place.tile} * columns + threadIdx.x % columns) * M;
#pragma unroll
    for (int i = 0; i < M; ++i)
      offset[i] = channel + i < tiles.channels ? static_cast<double>(__ldcg(partials.first + channel + i)) : 0;
  }
  sum_partials<N, 3>(
      tiles, place.tile, partials, shared.last,
      [&](Real mean, Real squares, std::uint32_t block, int i, double(&sums)[3]) {
        const double count = static_cast<double>(rows_of_block<rows>(tiles, block));
        const double distance = static_cast<double>(mean) - offset[i];
        sums[0] += count * distance;
        sums[1] += count * distance * distance;
        sums[2] += static_cast<double>(squares);
      },
      [&](std::int64_t channel, const double(&sums)[3]) {
        const double count = static_cast<double>(tiles.rows);
        const double distance = sums[0] / count;
        const double mean = static_cast<double>(__ldcg(partials.first + channel)) + distance;
        const double squares = sums[2] + (sums[1] - sums[0] * distance);
        const double variance = squares / count;
        out.mean[channel] = static_cast<Real>(mean);
        out.inv_std[channel] = static_cast<Real>(1 / ::sqrt(variance + out.epsilon));
        if (out.running_mean != nullptr) {
          // torch keeps the unbiased variance; of a single row there is none, so that one keeps the biased.
          const double unbiased = tiles.rows > 1 ? squares / (count - 1) : variance;
          const double running_mean = static_cast<double>(out.running_mean[channel]);
          const double running_variance = static_cast<double>(out.running_variance[channel]);
          out.running_mean[channel] = static_cast<Real>(running_mean + out.momentum * (mean - running_mean));
          out.running_variance[channel] = static_cast<Real>(running_variance + out.momentum * (unbiased - running_variance));
        }
      });
}

// -- normalisation ------------------------------------------------------------------------------------------------------

template <class Real>
struct NormInput {
  const Real* mean;
  const Real* inv_std;  ///< null: from the variance
  const Real* variance;
  const Real* gamma;
  const Real* beta;
  double epsilon;
};

template <AfterNorm After, int N, class T, class Real>
__global__ void __launch_bounds__(channel_threads, channel_blocks_each)
    normalise_kernel(const __grid_constant__ ChannelTiles tiles, const T* x, const T* shortcut,
                     const __grid_constant__ NormInput<Real> in, T* y) {
  constexpr bool adds = After == AfterNorm::add_relu;
  constexpr int rows = rows_of_normalise<T, adds>;
  constexpr int shortcut_rows = adds ? rows : 1;
  const ChannelPlace<N> place(tiles);
  if (!place.active) return;
  Real mean[N], factor[N], beta[N];
  load_channels(in.mean, place.channel, mean);
  load_channels(in.beta, place.channel, beta);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const std::int64_t c = place.channel + i;
    factor[i] =
        in.inv_std != nullptr
            ? exact::mul(in.inv_std[c], in.gamma[c])
            : static_cast<Real>(static_cast<double>(in.gamma[c]) / ::sqrt(static_cast<double>(in.variance[c]) + in.epsilon));
  }
  for_each_chunk<rows, true>(tiles, place.block, place.lane, [&](std::int64_t first, int count) {
    T raw[rows][N];
    T other[shortcut_rows][N];
    const std::int64_t at = first * tiles.channels + place.channel;
    const std::int64_t step = std::int64_t{tiles.lanes} * tiles.channels;
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      if (k >= count) continue;
      load_vector<N>(x + at + k * step, raw[k]);
      if constexpr (adds) load_vector<N>(shortcut + at + k * step, other[k]);
    }
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      if (k >= count) continue;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        Real value = normalised(convert<Real>(raw[k][i]), mean[i], factor[i], beta[i]);
        if constexpr (adds) value += convert<Real>(other[k][i]);
        const T rounded = convert<T>(value);
        raw[k][i] = After == AfterNorm::nothing ? rounded : relu_gated(rounded, rounded);
      }
      store_vector<N>(y + at + k * step, raw[k]);
    }
  });
}

// -- gradient sums ------------------------------------------------------------------------------------------------------

template <class T, class Real>
struct GradientSumsInput {
  const T* x;
  const T* y;  ///< of ReLU, where the mask comes from it
  const T* dy;
  const T* more;  ///< a second gradient that is added to dy; read if the kernel says so
  T* masked;      ///< where the sum of both, past the mask, goes; written if the kernel says so
  const Real* mean;
  const Real* inv_std;
  const Real* gamma;
  const Real* beta;  ///< read only where the mask is recomputed
  Real* dgamma;
  Real* dbeta;
  Real* factors;  ///< [3, channels]: what the next pass multiplies by and adds
  bool add;       ///< to what dgamma and dbeta hold
};

template <ReluMask Mask, bool HasMore, bool Writes, int N, class T, class Real>
__global__ void __launch_bounds__(channel_threads, channel_blocks_each)
    gradient_sums_kernel(const __grid_constant__ ChannelTiles tiles, const __grid_constant__ GradientSumsInput<T, Real> in,
                         const __grid_constant__ ChannelPartials<Real> partials) {
  constexpr bool reads_output = Mask == ReluMask::from_output;
  constexpr int rows = rows_in_flight<T, 2 + (reads_output ? 1 : 0) + (HasMore ? 1 : 0)>;
  constexpr int y_rows = reads_output ? rows : 1;
  constexpr int more_rows = HasMore ? rows : 1;
  __shared__ BlockSums<N, Real> shared;
  const ChannelPlace<N> place(tiles);
  Real sum[N] = {};
  Real products[N] = {};
  if (place.active) {
    Real mean[N];
    Real factor[Mask == ReluMask::recomputed ? N : 1], beta[Mask == ReluMask::recomputed ? N : 1];
    load_channels(in.mean, place.channel, mean);
    if constexpr (Mask == ReluMask::recomputed) {
      load_channels(in.beta, place.channel, beta);
#pragma unroll
      for (int i = 0; i < N; ++i) factor[i] = exact::mul(in.inv_std[place.channel + i], in.gamma[place.channel + i]);
    }
    for_each_chunk<rows, false>(tiles, place.block, place.lane, [&](std::int64_t first, int count) {
      T x[rows][N], dy[rows][N], y[y_rows][N], more[more_rows][N];
      const std::int64_t at = first * tiles.channels + place.channel;
      const std::int64_t step = std::int64_t{tiles.lanes} * tiles.channels;
#pragma unroll
      for (int k = 0; k < rows; ++k) {
        if (k >= count) continue;
        load_vector<N>(in.x + at + k * step, x[k]);
        load_vector<N>(in.dy + at + k * step, dy[k]);
        if constexpr (reads_output) load_vector<N>(in.y + at + k * step, y[k]);
        if constexpr (HasMore) load_vector<N>(in.more + at + k * step, more[k]);
      }
#pragma unroll
      for (int k = 0; k < rows; ++k) {
        if (k >= count) continue;
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const Real value = convert<Real>(x[k][i]);
          T gradient = dy[k][i];
          if constexpr (HasMore) gradient = sum_of<T>(gradient, more[k][i]);
          if constexpr (reads_output) gradient = relu_gated(gradient, y[k][i]);
          if constexpr (Mask == ReluMask::recomputed) {
            gradient = relu_gated(gradient, convert<T>(normalised(value, mean[i], factor[i], beta[i])));
          }
          dy[k][i] = gradient;
          const Real wide = convert<Real>(gradient);
          sum[i] += wide;
          products[i] = exact::fma(wide, exact::sub(value, mean[i]), products[i]);
        }
        if constexpr (Writes) store_vector<N>(in.masked + at + k * step, dy[k]);
      }
    });
  }
  add_lanes<N>(tiles, place.lane, sum, products, shared.lanes);
  if (!store_partials<N>(tiles, place, sum, products, partials)) return;
  sum_partials<N, 2>(
      tiles, place.tile, partials, shared.last,
      [](Real first, Real second, std::uint32_t, int, double(&sums)[2]) {
        sums[0] += static_cast<double>(first);
        sums[1] += static_cast<double>(second);
      },
      [&](std::int64_t channel, const double(&sums)[2]) {
        const double inverse = static_cast<double>(in.inv_std[channel]);
        const double factor = inverse * static_cast<double>(in.gamma[channel]);
        in.dgamma[channel] = static_cast<Real>((in.add ? static_cast<double>(in.dgamma[channel]) : 0) + sums[1] * inverse);
        in.dbeta[channel] = static_cast<Real>((in.add ? static_cast<double>(in.dbeta[channel]) : 0) + sums[0]);
        if (tiles.rows == 0) return;
        // dx = factor * (dy - mean(dy) - (x - mean) * inverse^2 * mean(dy (x - mean)))
        const double count = static_cast<double>(tiles.rows);
        in.factors[channel] = static_cast<Real>(factor);
        in.factors[tiles.channels + channel] = static_cast<Real>(-factor * inverse * inverse * sums[1] / count);
        in.factors[2 * tiles.channels + channel] = static_cast<Real>(-factor * sums[0] / count);
      });
}

// -- gradient -----------------------------------------------------------------------------------------------------------

template <bool Recomputes, int N, class T, class Real>
__global__ void __launch_bounds__(channel_threads, channel_blocks_each)
    gradient_kernel(const __grid_constant__ ChannelTiles tiles, const __grid_constant__ GradientSumsInput<T, Real> in,
                    const T* dy, T* dx) {
  constexpr int rows = rows_in_flight<T, 2>;
  const ChannelPlace<N> place(tiles);
  if (!place.active) return;
  Real mean[N], by_dy[N], by_x[N], offset[N];
  Real factor[Recomputes ? N : 1], beta[Recomputes ? N : 1];
  load_channels(in.mean, place.channel, mean);
  load_channels(static_cast<const Real*>(in.factors), place.channel, by_dy);
  load_channels(static_cast<const Real*>(in.factors), tiles.channels + place.channel, by_x);
  load_channels(static_cast<const Real*>(in.factors), 2 * tiles.channels + place.channel, offset);
  if constexpr (Recomputes) {
    load_channels(in.beta, place.channel, beta);
#pragma unroll
    for (int i = 0; i < N; ++i) factor[i] = exact::mul(in.inv_std[place.channel + i], in.gamma[place.channel + i]);
  }
  for_each_chunk<rows, true>(tiles, place.block, place.lane, [&](std::int64_t first, int count) {
    T x[rows][N], gradient[rows][N];
    const std::int64_t at = first * tiles.channels + place.channel;
    const std::int64_t step = std::int64_t{tiles.lanes} * tiles.channels;
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      if (k >= count) continue;
      load_vector<N>(in.x + at + k * step, x[k]);
      load_vector<N>(dy + at + k * step, gradient[k]);
    }
#pragma unroll
    for (int k = 0; k < rows; ++k) {
      if (k >= count) continue;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const Real value = convert<Real>(x[k][i]);
        T passed = gradient[k][i];
        if constexpr (Recomputes) passed = relu_gated(passed, convert<T>(normalised(value, mean[i], factor[i], beta[i])));
        const Real rest = exact::fma(exact::sub(value, mean[i]), by_x[i], offset[i]);
        gradient[k][i] = convert<T>(exact::fma(convert<Real>(passed), by_dy[i], rest));
      }
      store_vector<N>(dx + at + k * step, gradient[k]);
    }
  });
}

}  // namespace mezzo::detail::device
