#pragma once
// The fused optimizer: any update rule over any number of spans, with float32 master weights.

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <string>
#include <vector>

#include <mezzo/multi_tensor/host_runner.hpp>
#include <mezzo/optim/detail/operations.hpp>
#include <mezzo/optim/detail/overlap.hpp>
#include <mezzo/optim/gradient_view.hpp>
#include <mezzo/optim/parameter.hpp>

namespace mezzo {

/// An optimizer's counters and what its last check found.
struct OptimizerState {
  std::uint64_t applied_steps = 0;  ///< steps that changed the weights
  std::uint64_t skipped_steps = 0;  ///< steps that a non-finite gradient stopped
  double gradient_norm = 0;         ///< of the unscaled gradients, at the last `unscale` or `clip_grad_norm`
  float clip_factor = 1.f;          ///< of the last step
  friend bool operator==(const OptimizerState&, const OptimizerState&) = default;
};

/// Optimizer over spans of the user's, with float32 master weights for parameters of the low type.
///
///     MasterOptimizer<AdamW, float16> optimizer{executor, {{weights, grads}, {bias32, bias_grads}}, AdamW::Options{.lr = 1e-3f}};
///
/// Parameters of `Low` and of float mix freely; a float parameter is its own master. A step is two launches whatever the
/// number of parameters: a read-only check of the gradients and the update, which writes master, moments and the model's
/// low-precision copy in one pass. Neither waits; all scalars (step count, learning rate, bias corrections, clip factor) are
/// computed where the data is, so a step can be captured in a CUDA graph and replayed.
///
/// Memory (masters, moments, table) is allocated at construction only, or lent by the user. Model, gradients and given
/// masters must outlive the optimizer. One object belongs to one stream and one host thread at a time; a moved-from object
/// throws StateError.
///
/// @tparam Rule    update rule: Sgd, AdamW, or the user's own (optim/update_rule.hpp).
/// @tparam Low     element type of the model: float16, bfloat16 or float.
/// @tparam Storage Float32Master, or NoMaster to update the model's own values.
/// @tparam Moment  element type of the moments.
template <UpdateRule Rule, Element Low, MasterStorage Storage = Float32Master, Element Moment = float>
class MasterOptimizer {
  static_assert(SixteenBit<Low> || std::is_same_v<Low, float>,
                "MasterOptimizer: the low type must be float16, bfloat16 or float. Double parameters need no master weights, and an "
                "8-bit type cannot be converted to without a scale (optim/master_optimizer.hpp).");
  static_assert(SixteenBit<Moment> || std::is_same_v<Moment, float>,
                "MasterOptimizer: moments must be float, float16 or bfloat16 (optim/master_optimizer.hpp).");

  using Operations = detail::OptimizerOperations<Rule, Low, Storage, Moment>;
  using Control = detail::OptimizerControl<Rule>;
  using Row = multi_tensor::Row<Operations::columns>;
  using Where = std::source_location;

 public:
  using Parameter = BasicParameter<Low>;
  using Options = typename Rule::Options;

  /// @param parameters  `{{weights, grads}, {.model = w, .gradient = g, .name = "conv1"}, ...}`; may be empty.
  /// @param options     of every group, or one for each group that a parameter names.
  /// @param storage     the executor's memory to use, `storage_bytes` large and aligned to 64; empty: it is allocated.
  /// @throws InvalidArgument naming the parameter when lengths differ, a pointer is null, misaligned or not accessible to the
  ///         executor, spans overlap, or an option is out of range; OutOfMemory. Waits once for its tables to be copied.
  template <Executor E>
  MasterOptimizer(const E& executor, std::initializer_list<Parameter> parameters, const Options& options, Span<std::byte> storage = {},
                  Where where = Where::current())
      : MasterOptimizer(executor, Span<const Parameter>(parameters.begin(), parameters.size()), {&options, 1}, storage, where, Built{}) {}
  template <Executor E>
  MasterOptimizer(const E& executor, std::initializer_list<Parameter> parameters, std::initializer_list<Options> groups,
                  Span<std::byte> storage = {}, Where where = Where::current())
      : MasterOptimizer(executor, Span<const Parameter>(parameters.begin(), parameters.size()), {groups.begin(), groups.size()}, storage,
                        where, Built{}) {}
  template <Executor E, ContiguousRange Parameters>
  MasterOptimizer(const E& executor, const Parameters& parameters, const Options& options, Span<std::byte> storage = {},
                  Where where = Where::current())
      : MasterOptimizer(executor, as_span(parameters), {&options, 1}, storage, where, Built{}) {}
  template <Executor E, ContiguousRange Parameters>
  MasterOptimizer(const E& executor, const Parameters& parameters, std::initializer_list<Options> groups,
                  Span<std::byte> storage = {}, Where where = Where::current())
      : MasterOptimizer(executor, as_span(parameters), {groups.begin(), groups.size()}, storage, where, Built{}) {}

  MasterOptimizer(const MasterOptimizer&) = delete;             // two optimizers must not own one set of moments
  MasterOptimizer& operator=(const MasterOptimizer&) = delete;
  MasterOptimizer(MasterOptimizer&& other) noexcept { swap(other); }
  MasterOptimizer& operator=(MasterOptimizer&& other) noexcept {
    MasterOptimizer moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~MasterOptimizer() = default;

  /// One step without a scaler: gradients are used as they are and not looked at. Queued; does not wait.
  void step(Where where = Where::current()) {
    prepare({}, where);
    update({}, where);
  }

  /// Stores zeros in every gradient, in one launch. Queued; does not wait.
  void zero_grad(Where where = Where::current()) {
    alive(where);
    operations_->zero_grad(*executor_, table_.view(), where);
  }

  /// The options of a group from the next step on. Queued; does not wait. @throws InvalidArgument.
  void set_options(const Options& options, std::uint32_t group = 0, Where where = Where::current()) {
    alive(where);
    Rule::validate(options, where);
    require(group < groups_.size(), where, "set_options", "group must be one of the optimizer's", group);
    operations_->set_options(*executor_, {control_, group, options}, where);
    groups_[group] = options;
  }

  /// The learning rate of a group from the next step on. Queued; does not wait. @throws InvalidArgument.
  void set_learning_rate(float lr, std::uint32_t group = 0, Where where = Where::current()) {
    alive(where);
    require(group < groups_.size(), where, "set_learning_rate", "group must be one of the optimizer's", group);
    Options options = groups_[group];
    options.lr = lr;
    set_options(options, group, where);
  }

  /// The factor on every group's learning rate, as a function of the applied steps. Queued; does not wait.
  void set_schedule(const LearningRateSchedule& schedule, Where where = Where::current()) {
    alive(where);
    validate(schedule, where);
    operations_->set_schedule(*executor_, {control_, schedule}, where);
  }

  [[nodiscard]] const Options& options(std::uint32_t group = 0, Where where = Where::current()) const {
    require(group < groups_.size(), where, "options", "group must be one of the optimizer's", group);
    return groups_[group];
  }

  /// Counters and the last check's findings. Waits for the executor.
  [[nodiscard]] OptimizerState state(Where where = Where::current()) const {
    alive(where);
    Control control;
    executor_->copy(&control, control_, sizeof(Control), where);
    executor_->wait(where);
    return {control.applied_steps, control.skipped_steps, control.norm, control.clip};
  }

  /// Takes over the step counts of a checkpoint, from which bias corrections and schedule follow. Queued; does not wait.
  void load_state(const OptimizerState& state, Where where = Where::current()) {
    alive(where);
    operations_->set_steps(*executor_, {control_, state.applied_steps, state.skipped_steps}, where);
  }

  [[nodiscard]] std::size_t size() const noexcept { return parameters_.size(); }
  /// @throws InvalidArgument unless `i < size()`, as do the three below.
  [[nodiscard]] const Parameter& parameter(std::size_t i, Where where = Where::current()) const {
    require(i < parameters_.size(), where, "MasterOptimizer", "parameter must be below " + std::to_string(parameters_.size()), i);
    return parameters_[i];
  }

  /// [n] the float32 weights of parameter i, in the executor's memory; of a float parameter the model itself; empty without master.
  [[nodiscard]] Span<float> master(std::size_t i, Where where = Where::current()) const {
    const Row& row = row_of(i, where);
    const bool wide = Storage::keeps_master || (row.kind & detail::float_parameter) != 0;
    return wide ? Span<float>(static_cast<float*>(row.columns[detail::weight_column]), row.size) : Span<float>();
  }

  /// [n] moment `which` of parameter i, in the executor's memory, for `which` in [0, Rule::moments).
  [[nodiscard]] Span<Moment> moment(std::size_t i, int which, Where where = Where::current()) const {
    require(which >= 0 && which < Rule::moments, where, "moment", "which must be below " + std::to_string(Rule::moments), which);
    const Row& row = row_of(i, where);
    return {static_cast<Moment*>(row.columns[detail::first_moment_column + which]), row.size};
  }

  /// Gradient i as the update rule sees it before clipping: divided by the scale, whatever its type.
  [[nodiscard]] GradientView<Low> gradient(std::size_t i, Where where = Where::current()) const {
    const ParameterSpan<Low>& span = parameter(i, where).gradient;
    const float* const inverse = span.type() == ElementType::f32 ? &control_->inverse_float : &control_->inverse_low;
    return {span.data(), span.size(), span.type(), inverse};
  }

  /// Reads the model's values into the masters, after the user wrote the model (loaded weights, say). Allocates and waits.
  void copy_model_to_masters(Where where = Where::current()) { convert_rows(masters_, operations_->widen, true, where); }

  /// Rounds the masters into the model, after the user wrote the masters. Allocates and waits.
  void copy_masters_to_model(Where where = Where::current()) { convert_rows(masters_, operations_->narrow, false, where); }

  /// Bytes of the executor's memory that the optimizer uses besides the user's spans.
  [[nodiscard]] std::size_t storage_bytes() const noexcept { return memory_.size(); }

  /// Bytes that an optimizer of these parameters will need.
  [[nodiscard]] static std::size_t storage_bytes(Span<const Parameter> parameters, std::size_t groups = 1) {
    MasterOptimizer measured;
    measured.set_rows(parameters, groups, Where::current());
    return measured.place(nullptr, groups);
  }

  /// From now on queues on another stream of the same kind of executor; order between the two is the user's to make.
  template <Executor E>
  void rebind(const E& executor, Where where = Where::current()) {
    alive(where);
    if (!executor_->same_kind(AnyExecutor(executor))) fail<InvalidArgument>(where, "rebind", "the executor must be of the kind the optimizer was built on");
    executor_ = AnyExecutor(executor);
  }

  // -- ScalableOptimizer: what scalers call (loss_scale/step_control.hpp) ----------------------------------------------------
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  void prepare(const StepGate& gate, Where where) {
    alive(where);
    operations_->prepare(*executor_, {control_, gate}, where);
  }
  void check(const StepGate& gate, const CheckRequest& request, Where where) {
    alive(where);
    operations_->check(*executor_, table_.view(), control_, gate, request, where);
  }
  void clip(const StepGate&, float max_norm, Where where) {
    alive(where);
    operations_->clip(*executor_, {control_, max_norm}, where);
  }
  void update(const StepGate& gate, Where where) {
    alive(where);
    operations_->update(*executor_, table_.view(), control_, gate, where);
  }

 private:
  struct Built {};

  MasterOptimizer() = default;

  template <Executor E>
  MasterOptimizer(const E& executor, Span<const Parameter> parameters, Span<const Options> groups, Span<std::byte> storage,
                  Where where, Built)
      : executor_(executor),
        operations_(&detail::OptimizerOperationsOf<E, Rule, Low, Storage, Moment>::value),
        groups_(groups.begin(), groups.end()) {
    require(!groups_.empty(), where, "MasterOptimizer", "options of at least one group", groups_.size());
    for (const Options& options : groups_) Rule::validate(options, where);
    set_rows(parameters, groups_.size(), where);
    refuse_inaccessible(where);
    refuse_overlap(where);
    const std::size_t bytes = place(nullptr, groups_.size());
    if (storage.empty()) {
      memory_ = Memory(*executor_, bytes, where);
    } else {
      require(storage.size() >= bytes, where, "MasterOptimizer", "storage must hold " + std::to_string(bytes) + " bytes", storage.size());
      require(reinterpret_cast<std::uintptr_t>(storage.data()) % 64 == 0, where, "MasterOptimizer", "storage must be aligned to 64 bytes",
              static_cast<const void*>(storage.data()));
      memory_ = Memory(*executor_, storage);
    }
    place(memory_.data(), groups_.size());
    initialise(where);
    static std::atomic<std::uint64_t> ids{0};
    id_ = ++ids;
  }

  void alive(Where where) const {
    if (operations_ == nullptr) fail<StateError>(where, "MasterOptimizer", "used after it was moved from");
  }

  void swap(MasterOptimizer& other) noexcept {
    std::swap(executor_, other.executor_);
    std::swap(operations_, other.operations_);
    std::swap(groups_, other.groups_);
    std::swap(parameters_, other.parameters_);
    std::swap(table_, other.table_);
    std::swap(memory_, other.memory_);
    std::swap(control_, other.control_);
    std::swap(moments_, other.moments_);
    std::swap(masters_, other.masters_);
    std::swap(id_, other.id_);
  }

  [[nodiscard]] const Row& row_of(std::size_t i, Where where) const {
    static_cast<void>(parameter(i, where));
    return table_.rows()[i];
  }

  /// Name of parameter i for messages: `parameter 3 ("conv1")`.
  [[nodiscard]] std::string label(std::size_t i) const {
    const std::string_view name = parameters_[i].name;
    return "parameter " + std::to_string(i) + (name.empty() ? "" : " (\"" + std::string(name) + "\")");
  }

  /// Rows of the given spans; masters and moments follow in `place`.
  void set_rows(Span<const Parameter> parameters, std::size_t groups, Where where) {
    parameters_.assign(parameters.begin(), parameters.end());
    std::vector<Row> rows;
    rows.reserve(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      const bool low = p.model.type() != ElementType::f32;
      const auto wrong_size = [&](const char* span, std::size_t size) {
        fail<InvalidArgument>(where, "MasterOptimizer", label(i), ": ", span, " must have as many elements as the model (", p.model.size(), "), got ", size);
      };
      if (p.gradient.size() != p.model.size()) wrong_size("gradient", p.gradient.size());
      if (p.master.data() != nullptr && p.master.size() != p.model.size()) wrong_size("master", p.master.size());
      if (p.master.data() != nullptr && (!low || !Storage::keeps_master)) {
        fail<InvalidArgument>(where, "MasterOptimizer", label(i), low ? ": NoMaster keeps no master, so none may be given"
                                                                        : ": a float parameter is its own master, so none may be given");
      }
      if (p.group >= groups) fail<InvalidArgument>(where, "MasterOptimizer", label(i), ": group must be below ", groups, ", got ", p.group);
      const auto usable = [&](const char* span, const void* data, ElementType type) {
        if (p.model.size() == 0) return;
        if (data == nullptr) fail<InvalidArgument>(where, "MasterOptimizer", label(i), ": ", span, " is null with ", p.model.size(), " elements");
        if (reinterpret_cast<std::uintptr_t>(data) % size_of(type) != 0) {
          fail<InvalidArgument>(where, "MasterOptimizer", label(i), ": ", span, " must be aligned to ", size_of(type), " bytes, got address ", data);
        }
      };
      usable("model", p.model.data(), p.model.type());
      usable("gradient", p.gradient.data(), p.gradient.type());
      if (p.master.data() != nullptr) usable("master", p.master.data(), ElementType::f32);

      Row row{.columns = {}, .size = p.model.size(), .kind = 0, .group = p.group};
      if (p.gradient.type() == ElementType::f32) row.kind |= detail::float_gradient;
      if (!low) row.kind |= detail::float_parameter;
      row.columns[detail::gradient_column] = p.gradient.data();
      row.columns[detail::weight_column] = low && Storage::keeps_master ? p.master.data() : p.model.data();
      row.columns[copy_column] = low && Storage::keeps_master ? p.model.data() : nullptr;
      rows.push_back(row);
    }
    table_ = multi_tensor::Table<Operations::columns>(std::move(rows), {}, where);
  }

  void refuse_inaccessible(Where where) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      if (p.model.size() == 0) continue;
      const auto accessible = [&](const char* span, const void* data) {
        if (data != nullptr && !executor_->accessible(data)) {
          fail<InvalidArgument>(where, "MasterOptimizer", label(i), ": ", span, " must be memory of the executor's device, got address ", data);
        }
      };
      accessible("model", p.model.data());
      accessible("gradient", p.gradient.data());
      accessible("master", p.master.data());
    }
  }

  void refuse_overlap(Where where) const {
    std::vector<detail::ByteRange> ranges;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      detail::add_range(ranges, i, "model", p.model.data(), p.model.size() * size_of(p.model.type()));
      detail::add_range(ranges, i, "gradient", p.gradient.data(), p.gradient.size() * size_of(p.gradient.type()));
      detail::add_range(ranges, i, "master", p.master.data(), p.master.size() * sizeof(float));
    }
    if (const auto pair = detail::find_overlap(ranges)) {
      fail<InvalidArgument>(where, "MasterOptimizer", label(pair->first.parameter), ": ", pair->first.span, " overlaps the ", pair->second.span,
                            " of ", label(pair->second.parameter));
    }
  }

  /// Lays out everything the optimizer owns and returns its size; with memory, also points the rows at it.
  std::size_t place(std::byte* memory, std::size_t groups) {
    Arena arena(memory);
    control_ = arena.take<Control>(1, 64);
    auto* const options = arena.take<Options>(groups, 64);
    auto* const scalars = arena.take<typename Rule::Scalars>(groups, 64);
    if (memory != nullptr) head_ = {.options = options, .scalars = scalars};
    table_.place(arena);
    // Large arrays start at multiples of 2 MB: at some other distances the arrays that one step walks side by side collide
    // in DRAM (measured on an H200: 2.8 TB/s where 4.0 are possible).
    const auto begin_array = [&](std::size_t element) {
      std::size_t bytes = 0;
      for (const Row& row : table_.rows()) bytes += row.size * element;
      if (bytes >= (std::size_t{16} << 20)) arena.take<std::byte>(0, std::size_t{2} << 20);
    };
    // Masters and moments start in the alignment phase of the span they are walked with, so that one peeled head fits all.
    const auto phase = [&](std::size_t i, std::size_t element) {
      const Parameter& p = parameters_[i];
      return reinterpret_cast<std::uintptr_t>(p.model.data()) / size_of(p.model.type()) % 8 * element;
    };
    if (memory != nullptr) masters_.clear();
    begin_array(sizeof(float));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Row& row = table_.rows()[i];
      if (row.columns[copy_column] == nullptr) continue;
      const bool given = parameters_[i].master.data() != nullptr;
      float* const master = given ? nullptr : arena.take<float>(row.size, 64, phase(i, sizeof(float)));
      if (memory == nullptr) continue;
      if (!given) row.columns[detail::weight_column] = master;
      masters_.push_back({.row = i, .given = given});
    }
    const std::size_t moments_begin = arena.bytes();
    for (int which = 0; which < Rule::moments; ++which) {
      begin_array(sizeof(Moment));
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        auto* const moment = arena.take<Moment>(table_.rows()[i].size, 64, phase(i, sizeof(Moment)));
        if (memory != nullptr) table_.rows()[i].columns[detail::first_moment_column + which] = moment;
      }
    }
    moments_ = {memory != nullptr ? memory + moments_begin : nullptr, arena.bytes() - moments_begin};
    return arena.bytes();
  }

  /// First contents of what `place` laid out. Waits, since the copies read this object.
  void initialise(Where where) {
    Control control{};
    control.clip = control.inverse_low = control.inverse_float = 1.f;
    control.groups = static_cast<std::uint32_t>(groups_.size());
    control.options = head_.options;
    control.scalars = head_.scalars;
    executor_->copy(control_, &control, sizeof(Control), where);
    executor_->copy(control.options, groups_.data(), groups_.size() * sizeof(Options), where);
    executor_->fill(control.scalars, std::byte{0}, groups_.size() * sizeof(typename Rule::Scalars), where);
    table_.upload(*executor_, where);
    if (moments_.size() != 0) executor_->fill(moments_.data(), std::byte{0}, moments_.size(), where);
    executor_->wait(where);
    std::vector<Master> own, given;
    for (const Master& master : masters_) (master.given ? given : own).push_back(master);
    convert_rows(own, operations_->widen, true, where);
    convert_rows(given, operations_->narrow, false, where);
  }

  struct Master {
    std::size_t row;
    bool given;
  };

  /// Converts model to master or back for the listed rows.
  void convert_rows(const std::vector<Master>& masters, decltype(Operations::widen) convert, bool to_master, Where where) {
    alive(where);
    std::vector<multi_tensor::Row<2>> rows;
    for (const Master& master : masters) {
      const Row& row = table_.rows()[master.row];
      void* const model = row.columns[copy_column];
      void* const weight = row.columns[detail::weight_column];
      rows.push_back({.columns = {to_master ? model : weight, to_master ? weight : model}, .size = row.size, .kind = 0, .group = 0});
    }
    if (rows.empty()) return;
    multi_tensor::Table<2> table(std::move(rows), {}, where);
    Arena measure;
    table.place(measure);
    const Memory memory(*executor_, measure.bytes(), where);
    Arena arena(memory.data());
    table.place(arena);
    table.upload(*executor_, where);
    convert(*executor_, table.view(), where);
    executor_->wait(where);
  }

  static constexpr int copy_column = detail::first_moment_column + Rule::moments;

  struct Head {
    Options* options = nullptr;
    typename Rule::Scalars* scalars = nullptr;
  };

  std::optional<AnyExecutor> executor_;
  const Operations* operations_ = nullptr;
  std::vector<Options> groups_;
  std::vector<Parameter> parameters_;
  multi_tensor::Table<Operations::columns> table_;
  Memory memory_;
  Control* control_ = nullptr;
  Head head_;
  Span<std::byte> moments_;
  std::vector<Master> masters_;
  std::uint64_t id_ = 0;
};

}  // namespace mezzo
