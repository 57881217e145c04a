#pragma once
// The fused optimizer: any update rule over any number of spans, with float32 master weights.

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <mezzo/executor/require_span.hpp>
#include <mezzo/multi_tensor/host_runner.hpp>
#include <mezzo/optim/detail/masters.hpp>
#include <mezzo/optim/detail/operations.hpp>
#include <mezzo/optim/detail/overlap.hpp>
#include <mezzo/optim/gradient_view.hpp>
#include <mezzo/optim/parameter.hpp>

namespace mezzo {

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
template <UpdateRule Rule, class Low, MasterStorage Storage = Float32Master, class Moment = float>
class MasterOptimizer {
  static_assert(SixteenBit<Low> || std::is_same_v<Low, float>,
                "MasterOptimizer: the low type must be float16, bfloat16 or float. Double parameters need no master weights, and an "
                "8-bit type cannot be converted to without a scale (optim/master_optimizer.hpp).");
  static_assert(SixteenBit<Moment> || std::is_same_v<Moment, float>,
                "MasterOptimizer: moments must be float, float16 or bfloat16 (optim/master_optimizer.hpp).");
  static_assert(std::is_same_v<Moment, float> || !detail::needs_float_moments<Rule>,
                "MasterOptimizer: the moments of this rule must be float. Squares of gradients vanish in float16, and a bfloat16 average "
                "with a factor near 1 never moves (optim/master_optimizer.hpp).");
  static_assert(detail::updates_elements<Rule>,
                "MasterOptimizer: a rule needs a static update(const Scalars&, float& weight, float gradient, float& moment...) with as "
                "many moments as Rule::moments, and trivially copyable Options and Scalars (optim/update_rule.hpp).");

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
  MasterOptimizer(const E& executor, std::initializer_list<Parameter> parameters, const Options& options = {},
                  Span<std::byte> storage = {}, Where where = Where::current())
      : MasterOptimizer(executor, Span<const Parameter>(parameters.begin(), parameters.size()), {&options, 1}, storage, where, Built{}) {}
  template <Executor E>
  MasterOptimizer(const E& executor, std::initializer_list<Parameter> parameters, std::initializer_list<Options> groups,
                  Span<std::byte> storage = {}, Where where = Where::current())
      : MasterOptimizer(executor, Span<const Parameter>(parameters.begin(), parameters.size()), {groups.begin(), groups.size()}, storage,
                        where, Built{}) {}
  template <Executor E, ContiguousRange Parameters>
  MasterOptimizer(const E& executor, const Parameters& parameters, const Options& options = {}, Span<std::byte> storage = {},
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
  /// @throws StateError when a scaler has checked the gradients already: they carry its scale.
  void step(Where where = Where::current()) {
    if (checked_) {
      fail<StateError>(where, "MasterOptimizer", "a scaler has checked these gradients; call its step(optimizer) instead, or zero_grad "
                                                 "before new ones are written");
    }
    prepare({}, where);
    update({}, where);
  }

  /// Stores zeros in every gradient, in one launch. Queued; does not wait.
  void zero_grad(Where where = Where::current()) {
    alive(where);
    if (!table_.plan().chunks.empty()) operations_->zero_grad(*executor_, table_.view(), where);
    checked_ = false;
  }

  /// The options of a group from the next step on. Queued; does not wait. @throws InvalidArgument.
  void set_options(const Options& options, std::uint32_t group = 0, Where where = Where::current()) {
    alive(where);
    Rule::validate(options, where);
    require_group(group, "set_options", where);
    operations_->set_options(*executor_, {control_, group, options, checked_}, where);
    groups_[group] = options;
  }

  /// The learning rate of a group from the next step on. Queued; does not wait. @throws InvalidArgument.
  void set_learning_rate(float lr, std::uint32_t group = 0, Where where = Where::current()) {
    alive(where);
    require_group(group, "set_learning_rate", where);
    Options options = groups_[group];
    options.lr = lr;
    set_options(options, group, where);
  }

  /// The factor on every group's learning rate, as a function of the applied steps. Queued; does not wait.
  void set_schedule(const LearningRateSchedule& schedule, Where where = Where::current()) {
    alive(where);
    validate(schedule, where);
    operations_->set_schedule(*executor_, {control_, schedule, checked_}, where);
  }

  /// From the next check on the group rests, or works again: its gradients are not looked at, its weights and moments stay as
  /// they are. Bias corrections follow the optimizer's applied steps, also those that the group rested in: a group that is to start
  /// afresh belongs in an optimizer of its own. Queued; does not wait.
  void set_frozen(std::uint32_t group, bool frozen, Where where = Where::current()) {
    alive(where);
    require_group(group, "set_frozen", where);
    operations_->set_frozen(*executor_, {control_, group, frozen}, where);
  }

  [[nodiscard]] const Options& options(std::uint32_t group = 0, Where where = Where::current()) const {
    alive(where);
    require_group(group, "options", where);
    return groups_[group];
  }

  /// Counters and the last check's findings. Waits for the executor.
  [[nodiscard]] OptimizerState state(Where where = Where::current()) const {
    OptimizerState state;
    state_async(&state, where);
    executor_->wait(where);
    return state;
  }

  /// Queues a copy of the state to `out`; does not wait where `out` is pinned host memory or memory of the executor.
  void state_async(OptimizerState* out, Where where = Where::current()) const {
    alive(where);
    executor_->copy(out, &control_->state, sizeof(OptimizerState), where);
  }

  /// Takes over the state of a checkpoint. Masters and moments are the caller's to write, `copy_masters_to_model` follows; schedule,
  /// changed options and frozen groups are set again as they were first. Queued; does not wait.
  /// @throws InvalidArgument for more steps than any run has.
  void load_state(const OptimizerState& state, Where where = Where::current()) {
    alive(where);
    require(state.applied_steps < (std::uint64_t{1} << 63), where, "load_state", "applied_steps must be below 2^63", state.applied_steps);
    operations_->set_state(*executor_, {control_, state}, where);
    checked_ = false;
  }

  /// What the optimizer queues its work on.
  [[nodiscard]] const AnyExecutor& executor(Where where = Where::current()) const {
    alive(where);
    return *executor_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return parameters_.size(); }
  /// @throws InvalidArgument unless `i < size()`, as do the three below.
  [[nodiscard]] const Parameter& parameter(std::size_t i, Where where = Where::current()) const {
    alive(where);
    if (i >= parameters_.size()) fail<InvalidArgument>(where, "MasterOptimizer", "parameter must be below ", parameters_.size(), ", got ", i);
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
    if (which < 0 || which >= Rule::moments) fail<InvalidArgument>(where, "moment", "which must be below ", Rule::moments, ", got ", which);
    const Row& row = row_of(i, where);
    return {static_cast<Moment*>(row.columns[detail::first_moment_column + which]), row.size};
  }

  /// Gradient i as the update rule sees it before clipping: divided by the scale, whatever its type.
  [[nodiscard]] GradientView<Low> gradient(std::size_t i, Where where = Where::current()) const {
    const ParameterSpan<Low>& span = parameter(i, where).gradient;
    const float* const inverse = span.type() == ElementType::f32 ? &control_->inverse_float : &control_->inverse_low;
    return {span.data(), span.size(), span.type(), inverse};
  }

  /// Reads the model's values into the masters, after the user wrote the model (loaded weights, say). Queued; does not wait.
  void copy_model_to_masters(Where where = Where::current()) {
    alive(where);
    operations_->widen(*executor_, own_masters_.widening.view(), where);
    operations_->widen(*executor_, given_masters_.widening.view(), where);
  }

  /// Rounds the masters into the model, after the user wrote the masters. Queued; does not wait.
  void copy_masters_to_model(Where where = Where::current()) {
    alive(where);
    operations_->narrow(*executor_, own_masters_.narrowing.view(), where);
    operations_->narrow(*executor_, given_masters_.narrowing.view(), where);
  }

  /// Bytes of the executor's memory that the optimizer uses besides the user's spans.
  [[nodiscard]] std::size_t storage_bytes() const noexcept { return memory_.size(); }

  /// Bytes that an optimizer of these parameters will need.
  [[nodiscard]] static std::size_t storage_bytes(Span<const Parameter> parameters, std::size_t groups = 1,
                                                 Where where = Where::current()) {
    MasterOptimizer measured;
    measured.set_rows(parameters, groups, where);
    return measured.place(nullptr, groups);
  }

  /// From now on queues on another stream of the same kind of executor; order between the two is the user's to make.
  template <Executor E>
  void rebind(const E& executor, Where where = Where::current()) {
    alive(where);
    if (!executor_->same_kind(AnyExecutor(executor))) {
      fail<InvalidArgument>(where, "rebind", "the executor must be of the kind the optimizer was built on");
    }
    if (!AnyExecutor(executor).accessible(memory_.data())) {
      fail<InvalidArgument>(where, "rebind", "the executor must be on the device the optimizer was built on");
    }
    executor_ = AnyExecutor(executor);
    memory_.rebind(*executor_);
  }

  // -- ScalableOptimizer: what scalers call (loss_scale/step_control.hpp) ----------------------------------------------------
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] bool checked() const noexcept { return checked_; }
  void prepare(const StepGate& gate, Where where) {
    alive(where);
    operations_->prepare(*executor_, {control_, gate}, where);
  }
  void check(const StepGate& gate, const CheckRequest& request, Where where) {
    alive(where);
    operations_->check(*executor_, table_.view(), control_, gate, request, where);
    checked_ = true;
  }
  void clip(const StepGate&, float max_norm, Where where) {
    alive(where);
    operations_->clip(*executor_, {control_, max_norm}, where);
  }
  void update(const StepGate& gate, Where where) {
    alive(where);
    operations_->update(*executor_, table_.view(), control_, gate, where);
    checked_ = false;
  }

 private:
  struct Built {};

  MasterOptimizer() = default;

  template <Executor E>
  MasterOptimizer(const E& executor, Span<const Parameter> parameters, Span<const Options> groups, Span<std::byte> storage,
                  Where where, Built)
      : executor_(executor),
        operations_(detail::operations_on<E, detail::OptimizerOperationsOf<E, Rule, Low, Storage, Moment>>()),
        groups_(groups.begin(), groups.end()) {
    require(!groups_.empty(), where, "MasterOptimizer", "options of at least one group", groups_.size());
    for (const Options& options : groups_) Rule::validate(options, where);
    set_rows(parameters, groups_.size(), where);
    refuse_unusable(storage, where);
    refuse_overlap(storage, where);
    const std::size_t bytes = place(nullptr, groups_.size());
    if (storage.empty()) {
      memory_ = Memory(*executor_, bytes, where);
    } else {
      require(storage.size() >= bytes, where, "MasterOptimizer", "storage must hold " + std::to_string(bytes) + " bytes", storage.size());
      memory_ = Memory(*executor_, storage.first(bytes));
    }
    place(memory_.data(), groups_.size());
    initialise(where);
    id_ = new_optimizer_id();
  }

  void alive(Where where) const {
    if (operations_ == nullptr) fail<StateError>(where, "MasterOptimizer", "used after it was moved from");
  }

  void swap(MasterOptimizer& other) noexcept {
    std::swap(executor_, other.executor_);
    std::swap(operations_, other.operations_);
    std::swap(groups_, other.groups_);
    std::swap(names_, other.names_);
    std::swap(parameters_, other.parameters_);
    std::swap(table_, other.table_);
    std::swap(memory_, other.memory_);
    std::swap(control_, other.control_);
    std::swap(head_, other.head_);
    std::swap(moments_, other.moments_);
    std::swap(own_masters_, other.own_masters_);
    std::swap(given_masters_, other.given_masters_);
    std::swap(id_, other.id_);
    std::swap(checked_, other.checked_);
  }

  void require_group(std::uint32_t group, std::string_view call, Where where) const {
    if (group >= groups_.size()) fail<InvalidArgument>(where, call, "group must be below ", groups_.size(), ", got ", group);
  }

  [[nodiscard]] const Row& row_of(std::size_t i, Where where) const {
    static_cast<void>(parameter(i, where));
    return table_.rows()[i];
  }

  /// Name of parameter i for messages: `parameter 3 ("conv1")`.
  [[nodiscard]] std::string label(std::size_t i) const {
    if (i == parameters_.size()) return "the optimizer";
    const std::string_view name = parameters_[i].name;
    return "parameter " + std::to_string(i) + (name.empty() ? "" : " (\"" + std::string(name) + "\")");
  }

  /// Rows of the given spans; masters and moments follow in `place`.
  void set_rows(Span<const Parameter> parameters, std::size_t groups, Where where) {
    parameters_.assign(parameters.begin(), parameters.end());
    names_.reserve(parameters_.size());  // the views must not move
    for (Parameter& parameter : parameters_) parameter.name = names_.emplace_back(parameter.name);
    std::vector<Row> rows;
    rows.reserve(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      const bool low = p.model.type() != ElementType::f32;
      const auto wrong_size = [&](const char* span, std::size_t size) {
        fail<InvalidArgument>(where, "MasterOptimizer", label(i), ": ", span, " must have as many elements as the model (", p.model.size(), "), got ", size);
      };
      if (p.gradient.size() != p.model.size()) wrong_size("gradient", p.gradient.size());
      if (has_master(p) && p.master.size() != p.model.size()) wrong_size("master", p.master.size());
      if (has_master(p) && (!low || !Storage::keeps_master)) {
        fail<InvalidArgument>(where, "MasterOptimizer", label(i), low ? ": NoMaster keeps no master, so none may be given"
                                                                        : ": a float parameter is its own master, so none may be given");
      }
      if (p.group >= groups) fail<InvalidArgument>(where, "MasterOptimizer", label(i), ": group must be below ", groups, ", got ", p.group);
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

  /// Whether the user gave a master: a null one with a size is a mistake, not none.
  [[nodiscard]] static bool has_master(const Parameter& p) noexcept { return p.master.data() != nullptr || p.master.size() != 0; }

  void refuse_unusable(Span<std::byte> storage, Where where) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      const auto check = [&](const char* span, const void* data, std::size_t size, ElementType type) {
        require_span(*executor_, where, "MasterOptimizer", label(i) + ": " + span, data, size, size_of(type));
      };
      check("model", p.model.data(), p.model.size(), p.model.type());
      check("gradient", p.gradient.data(), p.gradient.size(), p.gradient.type());
      check("master", p.master.data(), p.master.size(), ElementType::f32);
    }
    require_span(*executor_, where, "MasterOptimizer", "storage", storage.data(), storage.size(), 64);
  }

  void refuse_overlap(Span<std::byte> storage, Where where) const {
    std::vector<detail::ByteRange> ranges;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Parameter& p = parameters_[i];
      detail::add_range(ranges, i, "model", p.model.data(), p.model.size() * size_of(p.model.type()));
      detail::add_range(ranges, i, "gradient", p.gradient.data(), p.gradient.size() * size_of(p.gradient.type()));
      detail::add_range(ranges, i, "master", p.master.data(), p.master.size() * sizeof(float));
    }
    detail::add_range(ranges, parameters_.size(), "storage", storage.data(), storage.size());
    if (const auto pair = detail::find_overlap(ranges)) {
      fail<InvalidArgument>(where, "MasterOptimizer", label(pair->first.parameter), ": ", pair->first.span, " overlaps the ",
                            pair->second.span, " of ", label(pair->second.parameter));
    }
  }

  /// Lays out everything the optimizer owns and returns its size; with memory, also points the rows at it.
  std::size_t place(std::byte* memory, std::size_t groups) {
    Arena arena(memory);
    control_ = arena.take<Control>(1, 64);
    auto* const options = arena.take<Options>(groups, 64);
    auto* const scalars = arena.take<typename Rule::Scalars>(groups, 64);
    auto* const frozen = arena.take<std::uint32_t>(groups, 64);
    head_ = {.options = options, .scalars = scalars, .frozen = frozen};
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
    begin_array(sizeof(float));
    std::vector<multi_tensor::Row<2>> own, given;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Row& row = table_.rows()[i];
      if (row.columns[copy_column] == nullptr) continue;
      const bool has_own = !has_master(parameters_[i]);
      if (has_own) row.columns[detail::weight_column] = arena.take<float>(row.size, 64, phase(i, sizeof(float)));
      (has_own ? own : given).push_back({.columns = {row.columns[copy_column], row.columns[detail::weight_column]}, .size = row.size, .kind = 0, .group = 0});
    }
    own_masters_.place(arena, std::move(own));
    given_masters_.place(arena, std::move(given));
    const std::size_t moments_begin = arena.bytes();
    for (int which = 0; which < Rule::moments; ++which) {
      begin_array(sizeof(Moment));
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        table_.rows()[i].columns[detail::first_moment_column + which] =
            arena.take<Moment>(table_.rows()[i].size, 64, phase(i, sizeof(Moment)));
      }
    }
    moments_ = {memory != nullptr ? memory + moments_begin : nullptr, arena.bytes() - moments_begin};
    return arena.bytes();
  }

  /// First contents of what `place` laid out. Waits, since the copies read this object.
  void initialise(Where where) {
    Control control{};
    control.state = {};
    control.inverse_low = control.inverse_float = 1.f;
    control.groups = static_cast<std::uint32_t>(groups_.size());
    control.options = head_.options;
    control.scalars = head_.scalars;
    control.frozen = head_.frozen;
    executor_->copy(control_, &control, sizeof(Control), where);
    executor_->copy(control.options, groups_.data(), groups_.size() * sizeof(Options), where);
    executor_->fill(control.scalars, std::byte{0}, groups_.size() * sizeof(typename Rule::Scalars), where);
    executor_->fill(control.frozen, std::byte{0}, groups_.size() * sizeof(std::uint32_t), where);
    table_.upload(*executor_, where);
    own_masters_.upload(*executor_, where);
    given_masters_.upload(*executor_, where);
    if (moments_.size() != 0) executor_->fill(moments_.data(), std::byte{0}, moments_.size(), where);
    operations_->widen(*executor_, own_masters_.widening.view(), where);
    operations_->narrow(*executor_, given_masters_.narrowing.view(), where);
    executor_->wait(where);
  }

  static constexpr int copy_column = detail::first_moment_column + Rule::moments;

  /// Where the arrays that the control block points to were placed.
  struct Head {
    Options* options = nullptr;
    typename Rule::Scalars* scalars = nullptr;
    std::uint32_t* frozen = nullptr;
  };

  std::optional<AnyExecutor> executor_;
  const Operations* operations_ = nullptr;
  std::vector<Options> groups_;
  std::vector<std::string> names_;
  std::vector<Parameter> parameters_;
  multi_tensor::Table<Operations::columns> table_;
  Memory memory_;
  Control* control_ = nullptr;
  Head head_;
  Span<std::byte> moments_;
  detail::Masters own_masters_, given_masters_;
  std::uint64_t id_ = 0;
  bool checked_ = false;  ///< by a scaler, since the last update
};

}  // namespace mezzo
