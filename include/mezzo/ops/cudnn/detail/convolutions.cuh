#pragma once
// Planned convolutions: graphs of cuDNN, timed against each other when they are planned, kept in the workspace.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <source_location>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <cudnn_frontend.h>

#include <mezzo/executor/cuda.cuh>
#include <mezzo/executor/memory.hpp>
#include <mezzo/numeric/convert.hpp>
#include <mezzo/ops/cuda/detail/state.hpp>
#include <mezzo/ops/cudnn/detail/trial.cuh>
#include <mezzo/ops/detail/conv2d_pass.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::cudnn {

/// Everything that a choice of kernel depends on.
struct ConvolutionKey {
  Conv2dPass pass;
  ElementType in;  ///< of both inputs
  ElementType out;
  bool add = false;  ///< the result is added to what the output holds
  Conv2dShape shape;
  std::size_t scratch = 0;  ///< bytes that a kernel may use

  [[nodiscard]] auto tied() const {
    return std::tuple(pass, in, out, add, shape.batch, shape.height, shape.width, shape.in_channels, shape.out_channels,
                      shape.kernel, shape.stride, shape.padding, scratch);
  }
  friend bool operator<(const ConvolutionKey& one, const ConvolutionKey& other) { return one.tied() < other.tied(); }
};

/// A graph and which of its kernels to run; no graph: cuDNN has none that fits.
struct ConvolutionPlan {
  std::shared_ptr<cudnn_frontend::graph::Graph> graph;
  std::int64_t kernel = -1;
  [[nodiscard]] bool found() const { return graph != nullptr; }
};

inline void check(cudnnStatus_t status, const char* call, const std::source_location& where) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail<CudaError>(where, call, cudnnGetErrorString(status));
}

inline cudnn_frontend::DataType_t data_type(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return cudnn_frontend::DataType_t::HALF;
    case ElementType::bf16:
      return cudnn_frontend::DataType_t::BFLOAT16;
    default:
      return cudnn_frontend::DataType_t::FLOAT;
  }
}

/// Handle and plans of one workspace.
class Convolutions {
 public:
  Convolutions(const CudaExecutor& executor, std::string_view op, const std::source_location& where) {
    device::refuse_capture(executor, op, where);
    const DeviceGuard guard(executor.device(), where);
    cudnnHandle_t handle = nullptr;
    check(cudnnCreate(&handle), "cudnnCreate", where);
    handle_.reset(handle);
    check(cudnnSetStream(handle, executor.stream()), "cudnnSetStream", where);
  }

  /// Another way to compute what a plan computes, queued on memory of a trial; false where it cannot.
  using Rival = std::function<bool(const Trial&)>;

  /// The plan, made at the first call from at most `candidates` kernels; of several the fastest, timed on memory of its own,
  /// and none if the rival is faster than that.
  /// @throws StateError when planning would fall into a capture.
  const ConvolutionPlan& plan(const CudaExecutor& executor, const ConvolutionKey& key, int candidates, const Rival& rival,
                              std::string_view op, const std::source_location& where) {
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    device::refuse_capture(executor, op, where);
    const DeviceGuard guard(executor.device(), where);
    return plans_.emplace(key, make(executor, key, candidates, rival, where)).first->second;
  }

  /// Queues a plan; `add`: to what the output holds.
  void run(const CudaExecutor& executor, const ConvolutionPlan& plan, const void* first, const void* second, void* out, bool add,
           void* scratch, const std::source_location& where) const {
    const DeviceGuard guard(executor.device(), where);
    auto status = execute(*plan.graph, plan.kernel, first, second, out, add, scratch);
    if (status.is_bad()) fail<CudaError>(where, "cudnnBackendExecute", status.get_message());
  }

 private:
  using Graph = cudnn_frontend::graph::Graph;
  using Tensor = std::shared_ptr<cudnn_frontend::graph::Tensor_attributes>;

  struct Destroy {
    void operator()(cudnnHandle_t handle) const noexcept { static_cast<void>(cudnnDestroy(handle)); }
  };

  // Operands in the order of their numbers.
  enum Number : std::int64_t { number_first = 1, number_second, number_out, number_old };

  cudnn_frontend::error_t execute(const Graph& graph, std::int64_t kernel, const void* first, const void* second, void* out,
                                  bool add, void* scratch) const {
    void* operands[] = {const_cast<void*>(first), const_cast<void*>(second), out, out};
    return graph.execute_plan_at_index(handle_.get(), operands, add ? 4 : 3, scratch, kernel);
  }

  static std::vector<std::int64_t> nhwc_strides(std::int64_t channels, std::int64_t height, std::int64_t width) {
    return {height * width * channels, 1, width * channels, channels};
  }

  struct Dimensions {
    std::vector<std::int64_t> size, stride;
  };
  /// In cuDNN's order: images or out channels, channels, height, width.
  static Dimensions x_of(const Conv2dShape& s) {
    return {{s.batch, s.in_channels, s.height, s.width}, nhwc_strides(s.in_channels, s.height, s.width)};
  }
  static Dimensions w_of(const Conv2dShape& s) {
    return {{s.out_channels, s.in_channels, s.kernel, s.kernel}, nhwc_strides(s.in_channels, s.kernel, s.kernel)};
  }
  static Dimensions y_of(const Conv2dShape& s) {
    return {{s.batch, s.out_channels, s.out_height(), s.out_width()},
            nhwc_strides(s.out_channels, s.out_height(), s.out_width())};
  }

  struct Operands {
    Dimensions first, second, out;
  };
  static Operands operands_of(const ConvolutionKey& key) {
    switch (key.pass) {
      case Conv2dPass::forward:
        return {x_of(key.shape), w_of(key.shape), y_of(key.shape)};
      case Conv2dPass::data_gradient:
        return {y_of(key.shape), w_of(key.shape), x_of(key.shape)};
      default:
        return {y_of(key.shape), x_of(key.shape), w_of(key.shape)};
    }
  }

  static std::size_t bytes_of(const Dimensions& dimensions, ElementType type) {
    std::size_t bytes = size_of(type);
    for (const std::int64_t size : dimensions.size) bytes *= static_cast<std::size_t>(size);
    return bytes;
  }

  static Tensor add_tensor(Graph& graph, const Dimensions& dimensions, Number number, ElementType type) {
    using Attributes = cudnn_frontend::graph::Tensor_attributes;
    return graph.tensor(
        Attributes().set_dim(dimensions.size).set_stride(dimensions.stride).set_uid(number).set_data_type(data_type(type)));
  }

  template <class Attributes>
  static Attributes attributes_of(const Conv2dShape& shape) {
    Attributes attributes;
    attributes.set_padding({shape.padding, shape.padding}).set_stride({shape.stride, shape.stride}).set_dilation({1, 1});
    return attributes;
  }

  static std::shared_ptr<Graph> describe(const ConvolutionKey& key) {
    namespace fe = cudnn_frontend;
    constexpr fe::DataType_t sum = fe::DataType_t::FLOAT;
    auto graph = std::make_shared<Graph>();
    graph->set_io_data_type(data_type(key.in)).set_intermediate_data_type(sum).set_compute_data_type(sum);
    const Operands operands = operands_of(key);
    const Tensor first = add_tensor(*graph, operands.first, number_first, key.in);
    const Tensor second = add_tensor(*graph, operands.second, number_second, key.in);
    Tensor result;
    switch (key.pass) {
      case Conv2dPass::forward:
        result = graph->conv_fprop(first, second, attributes_of<fe::graph::Conv_fprop_attributes>(key.shape));
        break;
      case Conv2dPass::data_gradient:
        result = graph->conv_dgrad(first, second, attributes_of<fe::graph::Conv_dgrad_attributes>(key.shape));
        break;
      default:
        result = graph->conv_wgrad(first, second, attributes_of<fe::graph::Conv_wgrad_attributes>(key.shape));
        break;
    }
    result->set_dim(operands.out.size).set_stride(operands.out.stride);
    if (key.add) {
      result->set_data_type(sum);
      const Tensor old = add_tensor(*graph, operands.out, number_old, key.out);
      result = graph->pointwise(result, old,
                                fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD).set_compute_data_type(sum));
      result->set_dim(operands.out.size).set_stride(operands.out.stride);
    }
    result->set_output(true).set_data_type(data_type(key.out)).set_uid(number_out);
    return graph;
  }

  /// Kernels whose results the ops' error bounds do not cover, or that differ from run to run.
  static std::vector<cudnn_frontend::NumericalNote_t> excluded() {
    using Note = cudnn_frontend::NumericalNote_t;
    return {Note::DOWN_CONVERT_INPUTS, Note::REDUCED_PRECISION_REDUCTION, Note::NONDETERMINISTIC,   Note::FFT, Note::WINOGRAD,
            Note::WINOGRAD_TILE_4x4,   Note::WINOGRAD_TILE_6x6,           Note::WINOGRAD_TILE_13x13};
  }

  [[nodiscard]] ConvolutionPlan make(const CudaExecutor& executor, const ConvolutionKey& key, int candidates, const Rival& rival,
                                     const std::source_location& where) {
    using Mode = cudnn_frontend::HeurMode_t;
    const std::shared_ptr<Graph> graph = describe(key);
    if (graph->validate().is_bad() || graph->build_operation_graph(handle_.get()).is_bad() ||
        graph->create_execution_plans({Mode::A, Mode::FALLBACK}).is_bad()) {
      return {};
    }
    graph->deselect_numeric_notes(excluded());
    graph->deselect_workspace_greater_than(static_cast<std::int64_t>(key.scratch));
    const Operands operands = operands_of(key);
    const Trial trial(executor, bytes_of(operands.first, key.in), bytes_of(operands.second, key.in),
                      bytes_of(operands.out, key.out), key.scratch, where);
    if (!trial.ready) return {};  // a kernel that was not tried is not used
    const std::int64_t count = graph->get_execution_plan_count();
    for (std::int64_t next = 0; next < count;) {
      std::vector<std::int64_t> built;
      for (; next < count && static_cast<int>(built.size()) < candidates; ++next) {
        if (graph->build_plan_at_index(next).is_good()) built.push_back(next);
      }
      std::map<std::int64_t, float> times;
      if (candidates > 1) {
        trial.fill_for_timing(where);
        for (const std::int64_t kernel : built)
          times[kernel] = time_of(
              trial, [&] { return run_once(*graph, kernel, key, trial); }, where);
        std::ranges::stable_sort(built, {}, [&](std::int64_t kernel) { return times[kernel]; });
      }
      for (const std::int64_t kernel : built) {
        if (!keeps_overflows(*graph, key, trial, kernel, where)) continue;
        if (candidates > 1) {
          trial.fill_for_timing(where);
          if (time_of(
                  trial, [&] { return rival(trial); }, where) < times[kernel])
            return {};
        }
        return {graph, kernel};
      }
    }
    return {};
  }

  [[nodiscard]] bool run_once(const Graph& graph, std::int64_t kernel, const ConvolutionKey& key, const Trial& trial) const {
    return execute(graph, kernel, trial.first.data(), trial.second.data(), trial.out.data(), key.add, trial.scratch.data())
        .is_good();
  }

  /// Milliseconds of the fastest of a few runs; the largest float if `queue` says that it cannot.
  template <class Queue>
  [[nodiscard]] static float time_of(const Trial& trial, Queue&& queue, const std::source_location& where) {
    constexpr int runs = 4;  // the first warms up
    float best = (std::numeric_limits<float>::max)();
    for (int i = 0; i < runs; ++i) {
      trial.start(where);
      const bool ran = queue();
      const float time = trial.stop(where);
      if (!ran) break;
      if (i != 0) best = (std::min)(best, time);
    }
    return best;
  }

  /// Whether an infinity in an operand, and a sum that does not fit, make every result that they reach infinite or NaN: a loss
  /// scaler relies on it. cuDNN has kernels of which that is not true (engine 47 for float16 wrote 0 for some infinities).
  [[nodiscard]] bool keeps_overflows(const Graph& graph, const ConvolutionKey& key, const Trial& trial, std::int64_t kernel,
                                     const std::source_location& where) const {
    // In every format, nearly; times the largest number they are beyond the range. Results of either sign, and NaN, which sums
    // of both are: a kernel may lose one of them.
    constexpr std::uint32_t two = 0x40004000, minus_two = 0xc000c000, mixed = 0;
    const auto kept = [&](const Span<std::byte>& extreme, std::uint32_t value, const Span<std::byte>& other,
                          std::uint32_t factor) {
      trial.fill(extreme, value, where);
      if (factor == mixed) {
        trial.fill_for_timing(other, where);
      } else {
        trial.fill(other, factor, where);
      }
      trial.fill(trial.out, two, where);
      return run_once(graph, kernel, key, trial) && trial.nonfinite(key.out, where) >= reached(key);
    };
    const auto [infinity, largest] = extremes_of(key.in);
    for (const std::uint32_t factor : {two, minus_two, mixed}) {
      if (!kept(trial.first, infinity, trial.second, factor) || !kept(trial.second, infinity, trial.first, factor)) return false;
      if (factor != mixed && key.in == key.out && !kept(trial.first, largest, trial.second, factor)) return false;
    }
    return true;
  }

  /// Bit patterns of infinity and of the largest number, twice where they have 16 bits.
  static std::pair<std::uint32_t, std::uint32_t> extremes_of(ElementType type) {
    switch (type) {
      case ElementType::f16:
        return {0x7c007c00, 0x7bff7bff};
      case ElementType::bf16:
        return {0x7f807f80, 0x7f7f7f7f};
      default:
        return {0x7f800000, 0x7f7fffff};
    }
  }

  /// Results that read anything at all: not the pixels between the windows of a data gradient, nor taps that lie in the padding.
  static std::uint64_t reached(const ConvolutionKey& key) {
    const Conv2dShape& s = key.shape;
    const auto along = [&](std::int64_t in, std::int64_t out) {
      std::vector<bool> pixels(static_cast<std::size_t>(in)), taps(static_cast<std::size_t>(s.kernel));
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t tap = 0; tap < s.kernel; ++tap) {
          const std::int64_t i = o * s.stride + tap - s.padding;
          if (i >= 0 && i < in) pixels[static_cast<std::size_t>(i)] = taps[static_cast<std::size_t>(tap)] = true;
        }
      }
      switch (key.pass) {
        case Conv2dPass::forward:
          return out;  // every window reaches into the image, as the padding is smaller than it
        case Conv2dPass::data_gradient:
          return static_cast<std::int64_t>(std::ranges::count(pixels, true));
        default:
          return static_cast<std::int64_t>(std::ranges::count(taps, true));
      }
    };
    const std::int64_t places = along(s.height, s.out_height()) * along(s.width, s.out_width());
    switch (key.pass) {
      case Conv2dPass::forward:
        return static_cast<std::uint64_t>(s.batch * places * s.out_channels);
      case Conv2dPass::data_gradient:
        return static_cast<std::uint64_t>(s.batch * places * s.in_channels);
      default:
        return static_cast<std::uint64_t>(s.out_channels * places * s.in_channels);
    }
  }

  std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, Destroy> handle_;
  std::map<ConvolutionKey, ConvolutionPlan> plans_;
};

}  // namespace mezzo::detail::cudnn
