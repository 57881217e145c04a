#pragma once
// The shapes of ops: small aggregates with named fields, in elements. Counts are checked by each op for overflow.

#include <cstdint>

#include <mezzo/core/host_device.hpp>

namespace mezzo {

/// Whether an operand is stored transposed.
enum class Transpose : bool { no, yes };

/// C[m, n] = A[m, k] B[k, n], all row-major. A transposed operand is stored as [k, m] or [n, k].
struct GemmShape {
  std::int64_t m = 0;  ///< >= 0
  std::int64_t n = 0;  ///< >= 0
  std::int64_t k = 0;  ///< >= 0; with 0 the product is zero
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
};

/// y[batch, out_features] = x[batch, in_features] w[out_features, in_features]^T + bias[out_features].
struct LinearShape {
  std::int64_t batch = 0;         ///< >= 0
  std::int64_t in_features = 0;   ///< >= 1
  std::int64_t out_features = 0;  ///< >= 1
};

/// A square convolution, NHWC: x[batch, height, width, in_channels], w[out_channels, kernel, kernel, in_channels],
/// y[batch, out_height(), out_width(), out_channels].
struct Conv2dShape {
  std::int64_t batch = 0;         ///< >= 0
  std::int64_t height = 0;        ///< of x, >= 1
  std::int64_t width = 0;         ///< of x, >= 1
  std::int64_t in_channels = 0;   ///< >= 1
  std::int64_t out_channels = 0;  ///< >= 1
  std::int64_t kernel = 3;        ///< side of the window, >= 1
  std::int64_t stride = 1;        ///< in both directions, >= 1; beyond the padded image there is one window
  std::int64_t padding = 0;       ///< zeros on each side, in [0, kernel)

  [[nodiscard]] MEZZO_HOST_DEVICE constexpr std::int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr std::int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
};

/// Data of a batch norm or a global pool, NHWC: [batch, height, width, channels].
struct ImageShape {
  std::int64_t batch = 0;     ///< >= 0
  std::int64_t height = 0;    ///< >= 1
  std::int64_t width = 0;     ///< >= 1
  std::int64_t channels = 0;  ///< >= 1
};

/// Pooling over windows that do not overlap, NHWC, no padding: x[batch, height, width, channels],
/// y[batch, out_height(), out_width(), channels]. Rows and columns that fill no window are left out.
struct Pool2dShape {
  std::int64_t batch = 0;     ///< >= 0
  std::int64_t height = 0;    ///< of x, >= window
  std::int64_t width = 0;     ///< of x, >= window
  std::int64_t channels = 0;  ///< >= 1
  std::int64_t window = 2;    ///< side of the window, >= 1
  std::int64_t stride = 2;    ///< >= window

  [[nodiscard]] MEZZO_HOST_DEVICE constexpr std::int64_t out_height() const { return (height - window) / stride + 1; }
  [[nodiscard]] MEZZO_HOST_DEVICE constexpr std::int64_t out_width() const { return (width - window) / stride + 1; }
};

/// Logits of a classification: [batch, classes], with one label per row.
struct ClassificationShape {
  std::int64_t batch = 0;    ///< rows here, >= 0
  std::int64_t classes = 0;  ///< >= 1
  /// Rows that the mean is taken over; 0 stands for `batch`. Gradient accumulation gives the rows of all its parts.
  std::int64_t mean_over = 0;
};

}  // namespace mezzo
