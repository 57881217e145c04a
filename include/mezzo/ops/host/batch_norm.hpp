#pragma once
// Batch norm on the host: chunks of rows, each summed about its own mean; the chunks are merged in order, in double.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <source_location>

#include <mezzo/executor/host.hpp>
#include <mezzo/executor/memory.hpp>
#include <mezzo/ops/accumulate.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/detail/operands.hpp>
#include <mezzo/ops/host/detail/fit.hpp>
#include <mezzo/ops/host/detail/rows.hpp>
#include <mezzo/ops/named_spans.hpp>
#include <mezzo/ops/shapes.hpp>
#include <mezzo/ops/workspace.hpp>
#include <mezzo/policy/op/pass_through.hpp>

namespace mezzo::detail {

namespace host {

/// The rows [batch * height * width, channels] in chunks, with scratch for two widened chunks a thread and two sums a chunk.
template <class Sum>
class ChannelChunks {
 public:
  ChannelChunks(const ImageShape& shape, std::int64_t slots, std::byte* memory)
      : rows(shape.batch * shape.height * shape.width), channels(shape.channels) {
    constexpr std::int64_t elements = 8192;  // widened they fit into the L1 cache, twice
    at_once = std::clamp<std::int64_t>(elements / channels, 16, 1024);
    count = (rows + at_once - 1) / at_once;
    slots_ = std::clamp<std::int64_t>(count, 1, slots);
    Arena arena(memory);
    sums_ = arena.take<Sum>(static_cast<std::size_t>(count * 2 * channels), 64);
    factors_ = arena.take<Sum>(static_cast<std::size_t>(3 * channels), 64);
    buffers_ = arena.take<Sum>(static_cast<std::size_t>(slots_ * 2 * at_once * channels), 64);
    bytes_ = arena.bytes();
  }

  std::int64_t rows;
  std::int64_t channels;
  std::int64_t at_once = 0;  ///< rows of a chunk
  std::int64_t count = 0;    ///< of chunks

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t rows_of(std::int64_t chunk) const { return (std::min)(at_once, rows - chunk * at_once); }
  [[nodiscard]] Sum* sums(std::int64_t chunk, int which) const { return sums_ + (chunk * 2 + which) * channels; }
  [[nodiscard]] Sum* factors(int which) const { return factors_ + which * channels; }
  [[nodiscard]] Sum* buffer(std::int64_t slot, int which) const { return buffers_ + (slot * 2 + which) * at_once * channels; }

  /// `body(chunk, slot)` for every chunk.
  template <class Body>
  void for_each(Body&& body) const {
    parallel_for(count, slots_, body);
  }

  /// The chunk's elements in Sum: in place where they are, else widened into the buffer.
  template <class T>
  const Sum* load(const T* data, std::int64_t chunk, Sum* to) const {
    const T* const from = data + chunk * at_once * channels;
    if constexpr (std::is_same_v<T, Sum>) {
      return from;
    } else {
      widen_row(from, to, rows_of(chunk) * channels);
      return to;
    }
  }

 private:
  std::int64_t slots_ = 0;
  Sum* sums_ = nullptr;
  Sum* factors_ = nullptr;
  Sum* buffers_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Adds `value(row, channel)` over the rows to sum[channel], four rows at a time.
template <class Sum, class Value>
MEZZO_INLINE_BODY inline void add_rows(std::int64_t rows, std::int64_t channels, Sum* sum, Value value) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
MEZZO_IVDEP
    for (std::int64_t c = 0; c < channels; ++c) {
      sum[c] += (value(row, c) + value(row + 1, c)) + (value(row + 2, c) + value(row + 3, c));
    }
  }
  for (; row < rows; ++row) {
MEZZO_IVDEP
    for (std::int64_t c = 0; c < channels; ++c) sum[c] += value(row, c);
  }
}

}  // namespace host

template <>
struct Backend<HostExecutor, op::batch_norm> {
  template <class T>
  static std::size_t workspace_bytes(const HostExecutor&, const ImageShape& shape) {
    return host::ChannelChunks<accumulation_t<T>>(shape, host::threads(), nullptr).bytes();
  }

  template <class T>
  static void prepare(const Workspace<HostExecutor>&, const ImageShape&, const std::source_location&) {}  // nothing is planned on the host

  template <class T, class Sum>
  static void forward(Workspace<HostExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x,
                      const BatchNormWeights<Sum>& weights, const BatchNormRunning<Sum>& running, const BatchNormSaved<Sum>& saved, T* y,
                      const BatchNormOptions& options) {
    const auto chunks = host::fit(workspace, site.op, site.where, [&](std::int64_t slots, std::byte* memory) {
      return host::ChannelChunks<Sum>(shape, slots, memory);
    });
    measure(chunks, x);
    for (std::int64_t c = 0; c < chunks.channels; ++c) {
      double mean = 0;
      double squares = 0;  // of the distances from the mean
      double seen = 0;
      for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
        const double more = static_cast<double>(chunks.rows_of(chunk));
        const double distance = static_cast<double>(chunks.sums(chunk, 0)[c]) - mean;
        const double share = more / (seen + more);
        mean += distance * share;
        squares += static_cast<double>(chunks.sums(chunk, 1)[c]) + distance * distance * seen * share;
        seen += more;
      }
      const double variance = squares / seen;
      saved.mean[as_index(c)] = static_cast<Sum>(mean);
      saved.inv_std[as_index(c)] = static_cast<Sum>(1 / std::sqrt(variance + options.epsilon));
      if (running.mean.size() != 0) {
        // torch keeps the unbiased variance; of a single row there is none, so that one keeps the biased.
        const double unbiased = seen > 1 ? squares / (seen - 1) : variance;
        Sum& running_mean = running.mean[as_index(c)];
        Sum& running_variance = running.variance[as_index(c)];
        running_mean = static_cast<Sum>(static_cast<double>(running_mean) + options.momentum * (mean - static_cast<double>(running_mean)));
        running_variance =
            static_cast<Sum>(static_cast<double>(running_variance) + options.momentum * (unbiased - static_cast<double>(running_variance)));
      }
    }
    for (std::int64_t c = 0; c < chunks.channels; ++c) {
      chunks.factors(0)[c] = saved.mean[as_index(c)];
      chunks.factors(1)[c] = saved.inv_std[as_index(c)] * weights.gamma[as_index(c)];
      chunks.factors(2)[c] = weights.beta[as_index(c)];
    }
    normalise(chunks, x, y);
  }

  template <class T, class Sum>
  static void inference(Workspace<HostExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x,
                        const BatchNormWeights<Sum>& weights, const BatchNormRunning<const Sum>& running, T* y,
                        const BatchNormOptions& options) {
    const auto chunks = host::fit(workspace, site.op, site.where, [&](std::int64_t slots, std::byte* memory) {
      return host::ChannelChunks<Sum>(shape, slots, memory);
    });
    for (std::int64_t c = 0; c < chunks.channels; ++c) {
      const double variance = static_cast<double>(running.variance[as_index(c)]);
      chunks.factors(0)[c] = running.mean[as_index(c)];
      chunks.factors(1)[c] = static_cast<Sum>(static_cast<double>(weights.gamma[as_index(c)]) / std::sqrt(variance + options.epsilon));
      chunks.factors(2)[c] = weights.beta[as_index(c)];
    }
    normalise(chunks, x, y);
  }

  template <class T, class Sum>
  static void backward(Workspace<HostExecutor>& workspace, const OpSite& site, const ImageShape& shape, const T* x, const T* dy,
                       const BatchNormWeights<Sum>& weights, const BatchNormSaved<const Sum>& saved, T* dx,
                       const BatchNormGradients<Sum>& gradients, Accumulate accumulate) {
    const auto chunks = host::fit(workspace, site.op, site.where, [&](std::int64_t slots, std::byte* memory) {
      return host::ChannelChunks<Sum>(shape, slots, memory);
    });
    const std::int64_t channels = chunks.channels;
    const Sum* const mean = saved.mean.data();
    chunks.for_each([&](std::int64_t chunk, std::int64_t slot) {
      const Sum* const values = chunks.load(x, chunk, chunks.buffer(slot, 0));
      const Sum* const grads = chunks.load(dy, chunk, chunks.buffer(slot, 1));
      Sum* const sum = chunks.sums(chunk, 0);
      Sum* const products = chunks.sums(chunk, 1);
      std::fill_n(sum, 2 * channels, Sum{0});
      const std::int64_t rows = chunks.rows_of(chunk);
      host::vectorised([=]() MEZZO_INLINE_BODY {
        host::add_rows(rows, channels, sum, [=](std::int64_t row, std::int64_t c) MEZZO_INLINE_BODY { return grads[row * channels + c]; });
        host::add_rows(rows, channels, products, [=](std::int64_t row, std::int64_t c) MEZZO_INLINE_BODY {
          return grads[row * channels + c] * (values[row * channels + c] - mean[c]);
        });
      });
    });
    const double count = static_cast<double>(chunks.rows);
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      double products = 0;
      for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
        sum += static_cast<double>(chunks.sums(chunk, 0)[c]);
        products += static_cast<double>(chunks.sums(chunk, 1)[c]);
      }
      const double inverse = static_cast<double>(saved.inv_std[as_index(c)]);
      const double factor = inverse * static_cast<double>(weights.gamma[as_index(c)]);
      const bool add = accumulate == Accumulate::yes;
      Sum& dgamma = gradients.gamma[as_index(c)];
      Sum& dbeta = gradients.beta[as_index(c)];
      dgamma = static_cast<Sum>((add ? static_cast<double>(dgamma) : 0) + products * inverse);
      dbeta = static_cast<Sum>((add ? static_cast<double>(dbeta) : 0) + sum);
      if (chunks.rows == 0) continue;
      // dx = factor * (dy - mean(dy) - (x - mean) * inverse^2 * mean(dy (x - mean)))
      chunks.factors(0)[c] = static_cast<Sum>(factor);
      chunks.factors(1)[c] = static_cast<Sum>(-factor * inverse * inverse * products / count);
      chunks.factors(2)[c] = static_cast<Sum>(-factor * sum / count);
    }
    chunks.for_each([&](std::int64_t chunk, std::int64_t slot) {
      const Sum* const values = chunks.load(x, chunk, chunks.buffer(slot, 0));
      const Sum* const grads = chunks.load(dy, chunk, chunks.buffer(slot, 1));
      const Sum* const by_dy = chunks.factors(0);
      const Sum* const by_x = chunks.factors(1);
      const Sum* const offset = chunks.factors(2);
      store(chunks, chunk, dx, chunks.buffer(slot, 0), [=](std::int64_t i, std::int64_t c) MEZZO_INLINE_BODY {
        return grads[i] * by_dy[c] + ((values[i] - mean[c]) * by_x[c] + offset[c]);
      });
    });
  }

 private:
  static constexpr std::size_t as_index(std::int64_t channel) { return static_cast<std::size_t>(channel); }

  /// Mean and sum of squared distances from it, chunk by chunk.
  template <class T, class Sum>
  static void measure(const host::ChannelChunks<Sum>& chunks, const T* x) {
    const std::int64_t channels = chunks.channels;
    chunks.for_each([&](std::int64_t chunk, std::int64_t slot) {
      const Sum* const values = chunks.load(x, chunk, chunks.buffer(slot, 0));
      Sum* const mean = chunks.sums(chunk, 0);
      Sum* const squares = chunks.sums(chunk, 1);
      std::fill_n(mean, 2 * channels, Sum{0});
      const std::int64_t rows = chunks.rows_of(chunk);
      host::vectorised([=]() MEZZO_INLINE_BODY {
        host::add_rows(rows, channels, mean, [=](std::int64_t row, std::int64_t c) MEZZO_INLINE_BODY { return values[row * channels + c]; });
        for (std::int64_t c = 0; c < channels; ++c) mean[c] /= static_cast<Sum>(rows);
        host::add_rows(rows, channels, squares, [=](std::int64_t row, std::int64_t c) MEZZO_INLINE_BODY {
          const Sum distance = values[row * channels + c] - mean[c];
          return distance * distance;
        });
      });
    });
  }

  /// y = (x - factors(0)) * factors(1) + factors(2), each by channel.
  template <class T, class Sum>
  static void normalise(const host::ChannelChunks<Sum>& chunks, const T* x, T* y) {
    const Sum* const mean = chunks.factors(0);
    const Sum* const factor = chunks.factors(1);
    const Sum* const offset = chunks.factors(2);
    chunks.for_each([&](std::int64_t chunk, std::int64_t slot) {
      const Sum* const values = chunks.load(x, chunk, chunks.buffer(slot, 0));
      store(chunks, chunk, y, chunks.buffer(slot, 0), [=](std::int64_t i, std::int64_t c) MEZZO_INLINE_BODY {
        return (values[i] - mean[c]) * factor[c] + offset[c];
      });
    });
  }

  /// to[i] = value(i, channel) for the elements of one chunk, rounded once. `buffer` may hold the values that are read.
  template <class T, class Sum, class Value>
  static void store(const host::ChannelChunks<Sum>& chunks, std::int64_t chunk, T* to, Sum* buffer, Value value) {
    const std::int64_t channels = chunks.channels;
    const std::int64_t rows = chunks.rows_of(chunk);
    T* const first = to + chunk * chunks.at_once * channels;
    Sum* out = buffer;
    if constexpr (std::is_same_v<T, Sum>) out = first;
    host::vectorised([=]() MEZZO_INLINE_BODY {
      for (std::int64_t row = 0; row < rows; ++row) {
MEZZO_IVDEP
        for (std::int64_t c = 0; c < channels; ++c) out[row * channels + c] = value(row * channels + c, c);
      }
    });
    if constexpr (!std::is_same_v<T, Sum>) host::narrow_row(out, first, rows * channels);
  }
};

}  // namespace mezzo::detail
