#pragma once
// Planned convolutions: graphs of cuDNN, timed against each other when they are planned, kept in the workspace.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
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
#include <mezzo/ops/float32_math.hpp>
#include <mezzo/ops/shapes.hpp>

namespace mezzo::detail::cudnn {

enum class Pass : std::uint8_t { forward, data_gradient, weight_gradient };

/// Everything that a choice of kernel depends on.
struct ConvolutionKey {
  Pass pass;
  ElementType in;                        ///< of both inputs
  ElementType out;
  bool add = false;                      ///< the result is added to what the output holds
  Float32Math math = Float32Math::ieee;
  Conv2dShape shape;
  std::size_t scratch = 0;               ///< bytes that a kernel may use

  [[nodiscard]] auto tied() const {
    return std::tuple(pass, in, out, add, math, shape.batch, shape.height, shape.width, shape.in_channels, shape.out_channels, shape.kernel,
                      shape.stride, shape.padding, scratch);
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
    case ElementType::f16: return cudnn_frontend::DataType_t::HALF;
    case ElementType::bf16: return cudnn_frontend::DataType_t::BFLOAT16;
    case ElementType::f64: return cudnn_frontend::DataType_t::DOUBLE;
    default: return cudnn_frontend::DataType_t::FLOAT;
  }
}

/// Values to time kernels on: on zeros they run faster than on a network's data. Any 16-bit pattern with this mask is a
/// float16, bfloat16 or half of a float of a moderate size, of either sign.
struct FillForTiming {
  std::uint16_t* to;
  __device__ void operator()(std::uint64_t i) const {
    const std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15ULL;
    to[i] = static_cast<std::uint16_t>((mixed >> 40 & 0x83ffU) | 0x3800U);
  }
};

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

  /// The plan, made at the first call from at most `candidates` kernels; of several the fastest, timed on memory of its own.
  /// @throws StateError when planning would fall into a capture.
  const ConvolutionPlan& plan(const CudaExecutor& executor, const ConvolutionKey& key, int candidates, std::string_view op,
                              const std::source_location& where) {
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    device::refuse_capture(executor, op, where);
    const DeviceGuard guard(executor.device(), where);
    return plans_.emplace(key, make(executor, key, candidates, where)).first->second;
  }

  /// Queues a plan. `old` is what the result is added to, the output itself; null where nothing is added.
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

  cudnn_frontend::error_t execute(const Graph& graph, std::int64_t kernel, const void* first, const void* second, void* out, bool add,
                                  void* scratch) const {
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
    return {{s.batch, s.out_channels, s.out_height(), s.out_width()}, nhwc_strides(s.out_channels, s.out_height(), s.out_width())};
  }

  struct Operands {
    Dimensions first, second, out;
  };
  static Operands operands_of(const ConvolutionKey& key) {
    switch (key.pass) {
      case Pass::forward: return {x_of(key.shape), w_of(key.shape), y_of(key.shape)};
      case Pass::data_gradient: return {y_of(key.shape), w_of(key.shape), x_of(key.shape)};
      default: return {y_of(key.shape), x_of(key.shape), w_of(key.shape)};
    }
  }

  static Tensor add_tensor(Graph& graph, const Dimensions& dimensions, Number number, ElementType type) {
    using Attributes = cudnn_frontend::graph::Tensor_attributes;
    return graph.tensor(Attributes().set_dim(dimensions.size).set_stride(dimensions.stride).set_uid(number).set_data_type(data_type(type)));
  }

  template <class Attributes>
  static Attributes attributes_of(const Conv2dShape& shape) {
    Attributes attributes;
    attributes.set_padding({shape.padding, shape.padding}).set_stride({shape.stride, shape.stride}).set_dilation({1, 1});
    return attributes;
  }

  static std::shared_ptr<Graph> describe(const ConvolutionKey& key) {
    namespace fe = cudnn_frontend;
    const fe::DataType_t sum = key.in == ElementType::f64 ? fe::DataType_t::DOUBLE : fe::DataType_t::FLOAT;
    auto graph = std::make_shared<Graph>();
    graph->set_io_data_type(data_type(key.in)).set_intermediate_data_type(sum).set_compute_data_type(sum);
    const Operands operands = operands_of(key);
    const Tensor first = add_tensor(*graph, operands.first, number_first, key.in);
    const Tensor second = add_tensor(*graph, operands.second, number_second, key.in);
    Tensor result;
    switch (key.pass) {
      case Pass::forward: result = graph->conv_fprop(first, second, attributes_of<fe::graph::Conv_fprop_attributes>(key.shape)); break;
      case Pass::data_gradient: result = graph->conv_dgrad(first, second, attributes_of<fe::graph::Conv_dgrad_attributes>(key.shape)); break;
      default: result = graph->conv_wgrad(first, second, attributes_of<fe::graph::Conv_wgrad_attributes>(key.shape)); break;
    }
    result->set_dim(operands.out.size).set_stride(operands.out.stride);
    if (key.add) {
      result->set_data_type(sum);
      const Tensor old = add_tensor(*graph, operands.out, number_old, key.out);
      result = graph->pointwise(result, old, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD).set_compute_data_type(sum));
      result->set_dim(operands.out.size).set_stride(operands.out.stride);
    }
    result->set_output(true).set_data_type(data_type(key.out)).set_uid(number_out);
    return graph;
  }

  /// Kernels whose results the ops' error bounds do not cover, or that differ from run to run.
  static std::vector<cudnn_frontend::NumericalNote_t> excluded(const ConvolutionKey& key) {
    using Note = cudnn_frontend::NumericalNote_t;
    std::vector<Note> notes{Note::DOWN_CONVERT_INPUTS, Note::REDUCED_PRECISION_REDUCTION, Note::NONDETERMINISTIC, Note::FFT, Note::WINOGRAD,
                            Note::WINOGRAD_TILE_4x4, Note::WINOGRAD_TILE_6x6, Note::WINOGRAD_TILE_13x13};
    if (key.in == ElementType::f32 && key.math == Float32Math::ieee) notes.push_back(Note::TENSOR_CORE);  // tf32
    return notes;
  }

  [[nodiscard]] ConvolutionPlan make(const CudaExecutor& executor, const ConvolutionKey& key, int candidates, const std::source_location& where) {
    using Mode = cudnn_frontend::HeurMode_t;
    const std::shared_ptr<Graph> graph = describe(key);
    if (graph->validate().is_bad() || graph->build_operation_graph(handle_.get()).is_bad() ||
        graph->create_execution_plans({Mode::A, Mode::FALLBACK}).is_bad()) {
      return {};
    }
    graph->deselect_numeric_notes(excluded(key));
    graph->deselect_workspace_greater_than(static_cast<std::int64_t>(key.scratch));
    std::vector<std::int64_t> built;
    const std::int64_t count = graph->get_execution_plan_count();
    for (std::int64_t i = 0; i < count && static_cast<int>(built.size()) < candidates; ++i) {
      if (graph->build_plan_at_index(i).is_good()) built.push_back(i);
    }
    if (built.empty()) return {};
    return {graph, built.size() == 1 ? built.front() : fastest(executor, *graph, key, built, where)};
  }

  /// Runs each kernel a few times. Without memory to run them on, the first is taken: cuDNN orders them by expected speed.
  [[nodiscard]] std::int64_t fastest(const CudaExecutor& executor, const Graph& graph, const ConvolutionKey& key,
                                     const std::vector<std::int64_t>& built, const std::source_location& where) const {
    constexpr int runs = 4;  // the first warms up
    std::optional<Trial> trial;
    try {
      trial.emplace(executor, operands_of(key), key, where);
    } catch (const OutOfMemory&) {
      return built.front();
    }
    std::int64_t best = built.front();
    float best_time = (std::numeric_limits<float>::max)();
    for (const std::int64_t kernel : built) {
      float time = (std::numeric_limits<float>::max)();
      bool ran = true;
      for (int i = 0; i < runs && ran; ++i) {
        trial->start(executor, where);
        ran = execute(graph, kernel, trial->first.data(), trial->second.data(), trial->out.data(), key.add, trial->scratch.data()).is_good();
        const float now = trial->stop(executor, where);
        if (i != 0) time = (std::min)(time, now);
      }
      if (ran && time < best_time) best = kernel, best_time = time;
    }
    return best;
  }

  /// Memory and events of a timing.
  struct Trial {
    Trial(const CudaExecutor& executor, const Operands& operands, const ConvolutionKey& key, const std::source_location& where)
        : first(memory(executor, operands.first, key.in, where)),
          second(memory(executor, operands.second, key.in, where)),
          out(memory(executor, operands.out, key.out, where)),
          scratch(executor, key.scratch, where) {
      check_cuda(cudaEventCreate(&begin), "cudaEventCreate", where);
      if (const cudaError_t error = cudaEventCreate(&end); error != cudaSuccess) {
        static_cast<void>(cudaEventDestroy(begin));
        check_cuda(error, "cudaEventCreate", where);
      }
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    ~Trial() {
      static_cast<void>(cudaEventDestroy(begin));
      static_cast<void>(cudaEventDestroy(end));
    }

    static Memory memory(const CudaExecutor& executor, const Dimensions& dimensions, ElementType type, const std::source_location& where) {
      std::size_t count = size_of(type);
      for (const std::int64_t size : dimensions.size) count *= static_cast<std::size_t>(size);
      Memory memory(executor, count, where);
      for_each_index(executor, count / 2, FillForTiming{reinterpret_cast<std::uint16_t*>(memory.data())}, where);
      return memory;
    }

    void start(const CudaExecutor& executor, const std::source_location& where) const {
      check_cuda(cudaEventRecord(begin, executor.stream()), "cudaEventRecord", where);
    }
    [[nodiscard]] float stop(const CudaExecutor& executor, const std::source_location& where) const {
      float milliseconds = 0;
      check_cuda(cudaEventRecord(end, executor.stream()), "cudaEventRecord", where);
      check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize", where);
      check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime", where);
      return milliseconds;
    }

    Memory first, second, out, scratch;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
  };

  std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, Destroy> handle_;
  std::map<ConvolutionKey, ConvolutionPlan> plans_;
};

}  // namespace mezzo::detail::cudnn
