#pragma once
// An optimizer's work, instantiated for one executor where the optimizer is constructed and called from anywhere.

#include <mezzo/executor/executor.hpp>
#include <mezzo/multi_tensor/table.hpp>
#include <mezzo/optim/detail/functors.hpp>
#include <mezzo/optim/detail/rows.hpp>

namespace mezzo::detail {

template <UpdateRule Rule, Element Low, class Storage, Element Moment>
struct OptimizerOperations {
  static constexpr int columns = 3 + Rule::moments;
  using Control = OptimizerControl<Rule>;
  using View = multi_tensor::TableView<columns>;
  using PairView = multi_tensor::TableView<2>;
  using Where = std::source_location;

  void (*set_options)(const AnyExecutor&, const SetOptions<Rule>&, Where);
  void (*set_schedule)(const AnyExecutor&, const SetSchedule<Rule>&, Where);
  void (*set_state)(const AnyExecutor&, const SetState<Rule>&, Where);
  void (*set_frozen)(const AnyExecutor&, const SetFrozen<Rule>&, Where);
  void (*prepare)(const AnyExecutor&, const PrepareStep<Rule>&, Where);
  void (*clip)(const AnyExecutor&, const ClipStep<Rule>&, Where);
  void (*check)(const AnyExecutor&, const View&, Control*, const StepGate&, const CheckRequest&, Where);
  void (*update)(const AnyExecutor&, const View&, Control*, const StepGate&, Where);
  void (*zero_grad)(const AnyExecutor&, const View&, Where);
  void (*widen)(const AnyExecutor&, const PairView&, Where);
  void (*narrow)(const AnyExecutor&, const PairView&, Where);
};

template <class E, bool Norm, bool Divide, UpdateRule Rule, Element Low, class View>
void run_check(const AnyExecutor& executor, const View& table, OptimizerControl<Rule>* control, const StepGate& gate,
               float max_norm, std::source_location where) {
  reduce_elements(executor.get<E>(), table, CheckGradients<Rule, Low, Norm, Divide>{control, gate, max_norm}, where);
}

template <Executor E, UpdateRule Rule, Element Low, class Storage, Element Moment>
struct OptimizerOperationsOf {
  using Operations = OptimizerOperations<Rule, Low, Storage, Moment>;
  using View = typename Operations::View;
  using PairView = typename Operations::PairView;
  using Control = OptimizerControl<Rule>;
  using Where = std::source_location;

  template <class Functor>
  static void once(const AnyExecutor& executor, const Functor& functor, Where where) {
    run_once(executor.get<E>(), functor, where);
  }

  static void check(const AnyExecutor& executor, const View& table, Control* control, const StepGate& gate,
                    const CheckRequest& request, Where where) {
    if (request.divide_float32) {
      run_check<E, true, true, Rule, Low>(executor, table, control, gate, request.max_norm, where);
    } else if (request.norm || request.max_norm > 0.f) {
      run_check<E, true, false, Rule, Low>(executor, table, control, gate, request.max_norm, where);
    } else {
      run_check<E, false, false, Rule, Low>(executor, table, control, gate, 0.f, where);
    }
  }

  static void update(const AnyExecutor& executor, const View& table, Control* control, const StepGate& gate, Where where) {
    using Kinds = typename RowKinds<Low, Storage, Moment, Rule::moments>::type;
    for_each_element(executor.get<E>(), table, UpdateWeights<Rule, Kinds>{control, gate}, where);
  }

  static void zero_grad(const AnyExecutor& executor, const View& table, Where where) {
    for_each_element(executor.get<E>(), table, ZeroGradients<Low>{}, where);
  }

  template <class From, class To>
  static void convert_rows(const AnyExecutor& executor, const PairView& table, Where where) {
    for_each_element(executor.get<E>(), table, ConvertRows<From, To>{}, where);
  }

  static constexpr Operations value{.set_options = &once<SetOptions<Rule>>,
                                    .set_schedule = &once<SetSchedule<Rule>>,
                                    .set_state = &once<SetState<Rule>>,
                                    .set_frozen = &once<SetFrozen<Rule>>,
                                    .prepare = &once<PrepareStep<Rule>>,
                                    .clip = &once<ClipStep<Rule>>,
                                    .check = &check,
                                    .update = &update,
                                    .zero_grad = &zero_grad,
                                    .widen = &convert_rows<Low, float>,
                                    .narrow = &convert_rows<float, Low>};
};

}  // namespace mezzo::detail
