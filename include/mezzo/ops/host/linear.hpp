#pragma once
// The bias gradient of a linear layer on the host; its products are matmul's.

#include <algorithm>
#include <cstdint>

#include <mezzo/executor/host.hpp>
#include <mezzo/ops/detail/checks.hpp>
#include <mezzo/ops/host/detail/rows.hpp>
#include <mezzo/ops/host/gemm.hpp>

namespace mezzo::detail {

template <>
struct Backend<HostExecutor, op::linear> {
  template <class DY, class DB>
  static void bias_gradient(Workspace<HostExecutor>&, const OpSite&, const LinearShape& shape, const DY* dy, DB* db,
                            Accumulate accumulate) {
    using Sum = accumulation_t<DY, DB>;
    constexpr std::int64_t at_once = 64;
    for (std::int64_t first = 0; first < shape.out_features; first += at_once) {
      const std::int64_t width = (std::min)(at_once, shape.out_features - first);
      Sum sum[at_once] = {};
      for (std::int64_t row = 0; row < shape.batch; ++row) {
        for (std::int64_t i = 0; i < width; ++i) sum[i] += convert<Sum>(dy[row * shape.out_features + first + i]);
      }
      host::store_row(sum, db + first, width, accumulate);
    }
  }
};

}  // namespace mezzo::detail
