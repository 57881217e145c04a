#pragma once
// What all loss scalers share: their members, the order of calls they accept, and the work they queue.

#include <optional>

#include <mezzo/core/span.hpp>
#include <mezzo/executor/memory.hpp>
#include <mezzo/executor/require_span.hpp>
#include <mezzo/loss_scale/detail/operations.hpp>

namespace mezzo {

/// Whether gradients are looked at before a step.
enum class Check : std::uint8_t {
  none,            ///< no: a non-finite gradient reaches the weights
  skip_nonfinite   ///< a step with a non-finite gradient is skipped and counted
};

/// The members of every scaler: one iteration is [`scale`], [`unscale`], [`clip_grad_norm`], `step`, `update`.
///
/// All state is in the executor's memory; no member but `state` waits. The order of calls is tracked on the host as they
/// are made, so a wrong one throws StateError before anything is queued; a captured graph replays a checked sequence.
/// One object belongs to one stream and one host thread at a time. Moved-from objects throw StateError.
/// Source: torch.amp.GradScaler, except where a comment says so.
class LossScalerBase {
 public:
  LossScalerBase(const LossScalerBase&) = delete;             // two scalers must not share one state: use load_state
  LossScalerBase& operator=(const LossScalerBase&) = delete;
  LossScalerBase(LossScalerBase&& other) noexcept = default;
  LossScalerBase& operator=(LossScalerBase&& other) noexcept = default;

  /// `out[i] <- in[i] * scale`, rounded to float and then to `out`'s type: the gradient that the backward pass starts from.
  ///
  /// @param in   [n] float32: dLoss/dx, or the loss itself.
  /// @param out  [n] of any element type; may be `in` itself when that is float32, must not overlap otherwise.
  /// @throws InvalidArgument when the sizes differ, a pointer is null, misaligned or not accessible to the executor, or the
  ///         spans overlap in part; nothing is queued. Queued; does not wait; may be captured.
  template <ContiguousRange In, ContiguousRange Out>
  void scale(In&& in, Out&& out, std::source_location where = std::source_location::current()) {
    using From = std::remove_const_t<detail::range_element_t<In>>;
    using To = detail::range_element_t<Out>;
    static_assert(std::is_same_v<From, float>,
                  "scale: the input must be float32. A 16-bit loss has lost what scaling would keep; compute the loss in float "
                  "(loss_scale/loss_scaler.hpp).");
    static_assert(Element<std::remove_const_t<To>> && !std::is_const_v<To>,
                  "scale: the output must be a writable range of float16, bfloat16, float8, float or double "
                  "(loss_scale/loss_scaler.hpp).");
    const auto source = as_span(in);
    const auto target = as_span(out);
    require_spans("scale", "in", source, "out", target, where);
    if (source.empty()) return;
    operations_->scale(*executor_, device_view(), source.data(), target.data(), element_type_of<To>, source.size(), where);
  }

  /// `out[i] <- grads[i] / scale`, and every step of this iteration is skipped if a result is not finite: for gradients
  /// that belong to no mezzo optimizer.
  ///
  /// @param grads  [n] gradients of the scaled loss, of any element type; may be empty.
  /// @param out    [n] float or double; may be `grads` itself when the types are equal, must not overlap otherwise.
  /// @throws InvalidArgument as `scale` does; nothing is queued. Queued; does not wait; may be captured.
  /// Source: torch.amp GradScaler.unscale_, except that 16-bit gradients are never divided in place.
  template <ContiguousRange In, ContiguousRange Out>
  void unscale(In&& grads, Out&& out, std::source_location where = std::source_location::current()) {
    using From = std::remove_const_t<detail::range_element_t<In>>;
    using To = detail::range_element_t<Out>;
    static_assert(Element<From>, "unscale: gradients must be float16, bfloat16, float8, float or double (loss_scale/loss_scaler.hpp).");
    static_assert(FullPrecision<To>,
                  "unscale: the output must be a writable range of float or double. Dividing into a 16-bit type flushes to zero "
                  "the values that loss scaling kept; unscale into float32 storage instead (loss_scale/loss_scaler.hpp).");
    static_assert(!(std::is_same_v<From, double> && std::is_same_v<To, float>),
                  "unscale: double gradients must be unscaled into double; float would lose their range (loss_scale/loss_scaler.hpp).");
    const auto source = as_span(grads);
    const auto target = as_span(out);
    require_spans("unscale", "grads", source, "out", target, where);
    spans_checked_ = true;
    if (source.empty()) return;
    operations_->unscale(*executor_, device_view(), source.data(), element_type_of<From>, target.data(), element_type_of<To>,
                         source.size(), where);
  }

  /// The same in place.
  template <ContiguousRange Range>
    requires(!ScalableOptimizer<std::remove_cvref_t<Range>>)
  void unscale(Range&& grads, std::source_location where = std::source_location::current()) {
    static_assert(FullPrecision<detail::range_element_t<Range>>,
                  "unscale: gradients in place must be float or double. Dividing 16-bit gradients in place flushes to zero the "
                  "values that loss scaling kept. Unscale into float32 storage instead: unscale(grads, out) "
                  "(loss_scale/loss_scaler.hpp).");
    unscale(grads, grads, where);
  }

  /// Checks an optimizer's gradients, computes their norm and divides float32 gradients in place; 16-bit gradients stay
  /// scaled and are divided in registers by the step. Optional: `step` does what is needed by itself. With Check::none there
  /// is nothing to do.
  ///
  /// @throws StateError when called twice, or after `step`, in one iteration; InvalidArgument for an optimizer on another kind of
  ///         executor or another device, as `step` does. Gradients are untouched. Queued; does not wait.
  template <ScalableOptimizer Optimizer>
  void unscale(Optimizer& optimizer, std::source_location where = std::source_location::current()) {
    Iteration& iteration = iteration_of(optimizer, "unscale", where);
    if (iteration.stepped) fail<StateError>(where, "unscale", "called after step; call it before, or call update first");
    if (iteration.unscaled) fail<StateError>(where, "unscale", "called twice on one optimizer since the last update");
    if (check_ == Check::skip_nonfinite) {
      optimizer.check(gate(iteration), {.norm = true, .divide_float32 = true, .max_norm = iteration.max_norm}, where);
      iteration.checked = iteration.has_norm = true;
    }
    iteration.unscaled = true;
  }

  /// Applies the optimizers' step unless a gradient of any of them was not finite: one decision for all that are named. With
  /// Check::none there is no decision; an optimizer that `clip_grad_norm` checked then decides for itself.
  ///
  /// Divides gradients by the scale once, whether `unscale` was called or not. A skipped step changes nothing: weights,
  /// masters, moments, step count and schedule stay bit for bit.
  /// @throws StateError when an optimizer was stepped since the last update; nothing is queued. Queued; does not wait.
  template <ScalableOptimizer... Optimizer>
    requires(sizeof...(Optimizer) > 0)
  void step(Optimizer&... optimizer) {
    step(std::source_location::current(), optimizer...);
  }
  template <ScalableOptimizer Optimizer>
  void step(Optimizer& optimizer, std::source_location where = std::source_location::current()) {
    step(where, optimizer);
  }
  template <ScalableOptimizer First, ScalableOptimizer Second>
  void step(First& first, Second& second, std::source_location where = std::source_location::current()) {
    step(where, first, second);
  }
  template <ScalableOptimizer First, ScalableOptimizer Second, ScalableOptimizer Third>
  void step(First& first, Second& second, Third& third, std::source_location where = std::source_location::current()) {
    step(where, first, second, third);
  }
  template <ScalableOptimizer... Optimizer>
  void step(std::source_location where, Optimizer&... optimizer) {
    Iteration* const iterations[] = {&iteration_of(optimizer, "step", where)...};
    std::uint32_t skip_slots = 0;
    for (Iteration* iteration : iterations) {
      if (iteration->stepped) fail<StateError>(where, "step", "called twice on one optimizer; call update between two steps");
      const std::uint32_t slot = 1U << slot_of(*iteration);
      if ((skip_slots & slot) != 0) fail<StateError>(where, "step", "one optimizer is named twice");
      skip_slots |= slot;
    }
    // Kept until the step is queued: where a launch fails, the next try decides jointly as well.
    for (Iteration* iteration : iterations) iteration->skip_slots |= skip_slots;
    std::size_t i = 0;
    (check_before_step(optimizer, *iterations[i++], where), ...);
    i = 0;
    (apply(optimizer, *iterations[i++], where), ...);
  }

  /// Ends the iteration: the scale follows from what the steps saw, flags are cleared.
  ///
  /// @throws StateError when nothing was stepped or checked since the last update. Queued; does not wait.
  void update(std::source_location where = std::source_location::current()) {
    alive(where);
    bool seen = spans_checked_;
    for (std::uint32_t i = 0; i < iteration_count_; ++i) seen |= iterations_[i].stepped || iterations_[i].unscaled || iterations_[i].checked;
    if (!seen) {
      fail<StateError>(where, "update", "no step or unscale since the last update; where your own kernels check gradients, "
                                        "call assume_checked first");
    }
    if (control_ != nullptr) operations_->update(*executor_, {control_, config_, dynamic_}, where);
    end_iteration();
  }

  /// Tells that kernels of the user's checked this iteration's gradients through `device_view`, so that `update` accepts it.
  void assume_checked(std::source_location where = std::source_location::current()) {
    alive(where);
    spans_checked_ = true;
  }

  /// Abandons an iteration that failed midway: flags are cleared, the scale stays. float32 gradients that `unscale` divided
  /// stay divided: compute them anew. Queued; does not wait.
  void reset(std::source_location where = std::source_location::current()) {
    alive(where);
    if (control_ != nullptr) operations_->clear(*executor_, {control_}, where);
    end_iteration();
  }

  /// The state after everything queued so far. Waits for the executor.
  [[nodiscard]] LossScaleState state(std::source_location where = std::source_location::current()) const {
    LossScaleState state;
    state_async(&state, where);
    executor_->wait(where);
    return state;
  }

  /// Queues a copy of the state to `out`; does not wait where `out` is pinned host memory or memory of the executor.
  void state_async(LossScaleState* out, std::source_location where = std::source_location::current()) const {
    alive(where);
    if (control_ != nullptr) {
      executor_->copy(out, &control_->state, sizeof(LossScaleState), where);
    } else {
      static constexpr LossScaleState none{};
      executor_->copy(out, &none, sizeof none, where);
    }
  }

  /// Takes over a state, of a checkpoint say, and abandons an iteration in progress. Queued; does not wait.
  /// @throws InvalidArgument when no scaler of this configuration can be in that state; nothing changes.
  void load_state(const LossScaleState& state, std::source_location where = std::source_location::current()) {
    alive(where);
    validate(state, where);
    if (!dynamic_ && state.scale != config_.init_scale) {
      fail<InvalidArgument>(where, "load_state", "the scale of a static scaler is ", config_.init_scale, ", got ", state.scale);
    }
    if (dynamic_ && (state.scale < config_.min_scale || state.scale > config_.max_scale)) {
      fail<InvalidArgument>(where, "load_state", "scale must lie in [min_scale, max_scale], [", config_.min_scale, ", ", config_.max_scale,
                            "], got ", state.scale);
    }
    if (control_ != nullptr) operations_->load(*executor_, {control_, state}, where);
    end_iteration();
  }

  /// From now on queues on another stream of the same kind of executor; order between the two is the user's to make.
  template <Executor E>
  void rebind(const E& executor, std::source_location where = std::source_location::current()) {
    alive(where);
    if (!executor_->same_kind(AnyExecutor(executor))) {
      fail<InvalidArgument>(where, "rebind", "the executor must be of the kind the scaler was built on");
    }
    if (control_ != nullptr && !AnyExecutor(executor).accessible(memory_.data())) {
      fail<InvalidArgument>(where, "rebind", "the executor must be on the device the scaler was built on");
    }
    executor_ = AnyExecutor(executor);
    memory_.rebind(*executor_);
    neighbour_ = 0;
  }

  /// Scale, inverse and overflow flag for the user's own kernels; valid as long as the scaler.
  [[nodiscard]] LossScaleView device_view(std::source_location where = std::source_location::current()) const {
    alive(where);
    return LossScaleView(control_);
  }

  /// The configuration; of a static scaler, `init_scale` is its scale.
  [[nodiscard]] const LossScaleConfig& config() const noexcept { return config_; }

  /// Bytes of the executor's memory that a scaler uses, where the user lends them; aligned to 16.
  [[nodiscard]] static constexpr std::size_t storage_bytes() noexcept { return sizeof(StepControl); }

  /// For clip_grad_norm (optim/clip_grad_norm.hpp): queues the check that clipping needs, or the clip factor alone where the
  /// norm is known.
  template <ScalableOptimizer Optimizer>
  void clip(Optimizer& optimizer, float max_norm, std::source_location where) {
    require(detail::is_positive_finite(max_norm), where, "clip_grad_norm", "max_norm must be positive and finite", max_norm);
    Iteration& iteration = iteration_of(optimizer, "clip_grad_norm", where);
    if (iteration.stepped) fail<StateError>(where, "clip_grad_norm", "called after step; call it before, or call update first");
    if (iteration.has_norm) {
      optimizer.clip(gate(iteration), max_norm, where);
    } else {
      optimizer.check(gate(iteration), {.norm = true, .max_norm = max_norm}, where);
      iteration.checked = iteration.has_norm = true;
    }
    iteration.max_norm = max_norm;
  }

 protected:
  template <Executor E>
  LossScalerBase(const E& executor, const LossScaleConfig& config, bool dynamic, Check check,
                 std::optional<Span<std::byte>> storage, std::source_location where)
      : executor_(executor), operations_(detail::operations_on<E, detail::LossScaleOperationsOf<E>>()), config_(config), dynamic_(dynamic), check_(check) {
    if (check == Check::none) return;
    if (storage) {
      require(storage->size() >= sizeof(StepControl), where, "LossScaler", "storage must hold storage_bytes()", storage->size());
      require_span(*executor_, where, "LossScaler", "storage", storage->data(), storage->size(), 16);
      memory_ = Memory(*executor_, *storage);
    } else {
      memory_ = Memory(*executor_, sizeof(StepControl), where);
    }
    control_ = reinterpret_cast<StepControl*>(memory_.data());
    operations_->load(*executor_, {control_, {.scale = config.init_scale}}, where);
  }
  ~LossScalerBase() = default;

 private:
  /// What was called on one optimizer since the last update.
  struct Iteration {
    std::uint64_t optimizer = 0;
    bool unscaled = false;
    bool checked = false;
    bool has_norm = false;
    bool stepped = false;
    float max_norm = 0.f;
    std::uint32_t skip_slots = 0;  ///< of the optimizers that decide with this one
  };

  /// A pointer that a move leaves null, so that the moved-from object knows.
  template <class T>
  struct Moving {
    T* pointer = nullptr;
    Moving(T* from = nullptr) noexcept : pointer(from) {}  // NOLINT: implicit on purpose
    Moving(Moving&& other) noexcept : pointer(std::exchange(other.pointer, nullptr)) {}
    Moving& operator=(Moving&& other) noexcept {
      T* const moved = std::exchange(other.pointer, nullptr);
      pointer = moved;
      return *this;
    }
    operator T*() const noexcept { return pointer; }  // NOLINT: implicit on purpose
    T* operator->() const noexcept { return pointer; }
  };

  void alive(std::source_location where) const {
    if (operations_ == nullptr) fail<StateError>(where, "LossScaler", "used after it was moved from");
  }

  template <class In, class Out>
  void require_spans(std::string_view call, std::string_view in_name, Span<In> in, std::string_view out_name, Span<Out> out,
                     std::source_location where) const {
    alive(where);
    if (in.size() != out.size()) {
      fail<InvalidArgument>(where, call, out_name, " must have as many elements as ", in_name, " (", in.size(), "), got ", out.size());
    }
    require_span(*executor_, where, call, in_name, in.data(), in.size(), sizeof(In));
    require_span(*executor_, where, call, out_name, out.data(), out.size(), sizeof(Out));
    require_same_or_apart(where, call, "in and out", in.data(), in.size_bytes(), out.data(), out.size_bytes());
  }

  template <class Optimizer>
  Iteration& iteration_of(const Optimizer& optimizer, const char* call, std::source_location where) {
    alive(where);
    for (std::uint32_t i = 0; i < iteration_count_; ++i) {
      if (iterations_[i].optimizer == optimizer.id()) return iterations_[i];
    }
    if constexpr (requires { AnyExecutor(optimizer.executor(where)); }) {
      const AnyExecutor& other = optimizer.executor(where);  // a moved-from optimizer throws here, before anything is queued
      const bool together = optimizer.id() == neighbour_ || (executor_->same_kind(other) && (control_ == nullptr || other.accessible(control_)));
      if (!together) fail<InvalidArgument>(where, call, "scaler and optimizer must be on executors of one kind and one device");
      neighbour_ = optimizer.id();
    }
    if (iteration_count_ == std::size(iterations_)) {
      fail<StateError>(where, call, "at most ", std::size(iterations_), " optimizers between two updates");
    }
    iterations_[iteration_count_] = {.optimizer = optimizer.id()};
    return iterations_[iteration_count_++];
  }

  [[nodiscard]] std::uint32_t slot_of(const Iteration& iteration) const noexcept {
    return static_cast<std::uint32_t>(&iteration - iterations_) + 1;
  }

  /// What the optimizer gets to see: slot 0, which the user's kernels raise, skips every step.
  [[nodiscard]] StepGate gate(const Iteration& iteration) const noexcept {
    if (control_ == nullptr) return {};
    return {.inverse_scale = &control_->inverse_scale,
            .overflow = control_->overflow,
            .slot = slot_of(iteration),
            .skip_slots = iteration.skip_slots | 1U};
  }

  template <class Optimizer>
  void check_before_step(Optimizer& optimizer, Iteration& iteration, std::source_location where) {
    bool checked = iteration.checked;
    // Zeroed gradients, or a loaded state, ask for a new check.
    if constexpr (requires { { optimizer.checked() } -> std::same_as<bool>; }) checked = checked && optimizer.checked();
    if (checked) return;
    if (check_ == Check::none && !iteration.has_norm) {
      optimizer.prepare(gate(iteration), where);
    } else {
      optimizer.check(gate(iteration), {.norm = iteration.max_norm > 0.f, .max_norm = iteration.max_norm}, where);
    }
    iteration.checked = true;
  }

  template <class Optimizer>
  void apply(Optimizer& optimizer, Iteration& iteration, std::source_location where) {
    optimizer.update(gate(iteration), where);
    iteration.stepped = true;
  }

  void end_iteration() noexcept {
    iteration_count_ = 0;
    spans_checked_ = false;
  }

  std::optional<AnyExecutor> executor_;
  Moving<const detail::LossScaleOperations> operations_;
  LossScaleConfig config_;
  bool dynamic_;
  Check check_;
  Memory memory_;
  Moving<StepControl> control_;
  Iteration iterations_[overflow_slots - 1];
  std::uint32_t iteration_count_ = 0;
  bool spans_checked_ = false;
  std::uint64_t neighbour_ = 0;  ///< the optimizer last found to be on the same device
};

/// A loss scaler: a type derived from LossScalerBase, whose members are all there is to one.
template <class Scaler>
concept LossScaler = std::derived_from<Scaler, LossScalerBase> && !std::copy_constructible<Scaler>;

}  // namespace mezzo
