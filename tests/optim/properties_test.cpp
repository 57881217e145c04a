#include <mezzo/optim/master_optimizer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <mezzo/loss_scale/runtime.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/clip_grad_norm.hpp>
#include <mezzo/optim/sgd.hpp>

#include <rapidcheck.h>

#include "support/property.hpp"

namespace {

using mezzo::AdamW;
using mezzo::convert;
using mezzo::HostExecutor;
using mezzo::RuntimeLossScaler;
using mezzo::Sgd;
using mezzo::test::holds_for_all;
using mezzo::to_bits;
using Low = mezzo::bfloat16;

/// A model as plain memory: one span a parameter, low or float32, with gradients of either type.
template <class Rule>
struct Run {
  struct Parameter {
    std::vector<float> weights;    ///< first values, low enough in precision for any type
    bool wide_model, wide_gradient;
  };
  struct Memory {
    std::vector<Low> low_model, low_gradient;
    std::vector<float> wide_model, wide_gradient;
  };
  std::vector<Memory> memory;
  std::vector<mezzo::BasicParameter<Low>> parameters;
  mezzo::MasterOptimizer<Rule, Low> optimizer;

  Run(const std::vector<Parameter>& list, const typename Rule::Options& options) : memory(list.size()), optimizer(HostExecutor{}, place(list), options) {}

  std::vector<mezzo::BasicParameter<Low>>& place(const std::vector<Parameter>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      Memory& m = memory[i];
      const std::size_t size = list[i].weights.size();
      mezzo::BasicParameter<Low> parameter;
      if (list[i].wide_model) {
        m.wide_model = list[i].weights;
        parameter.model = m.wide_model;
      } else {
        for (const float w : list[i].weights) m.low_model.push_back(convert<Low>(w));
        parameter.model = m.low_model;
      }
      if (list[i].wide_gradient) {
        m.wide_gradient.resize(size);
        parameter.gradient = m.wide_gradient;
      } else {
        m.low_gradient.resize(size);
        parameter.gradient = m.low_gradient;
      }
      parameters.push_back(parameter);
    }
    return parameters;
  }

  /// Gradient of element k of all elements becomes `values[k] * factor`.
  void set(const std::vector<float>& values, float factor = 1.f) {
    std::size_t k = 0;
    for (Memory& m : memory) {
      for (Low& g : m.low_gradient) g = convert<Low>(values[k++] * factor);
      for (float& g : m.wide_gradient) g = values[k++] * factor;
    }
  }

  /// Bits of models, masters and moments of each parameter, in this order.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> bits() const {
    std::vector<std::vector<std::uint32_t>> all;
    for (std::size_t i = 0; i < memory.size(); ++i) {
      std::vector<std::uint32_t>& row = all.emplace_back();
      const std::size_t size = parameters[i].model.size();
      for (std::size_t k = 0; k < size; ++k) {
        row.push_back(memory[i].low_model.empty() ? to_bits(memory[i].wide_model[k]) : to_bits(memory[i].low_model[k]));
        row.push_back(to_bits(optimizer.master(i)[k]));
        for (int which = 0; which < Rule::moments; ++which) row.push_back(to_bits(optimizer.moment(i, which)[k]));
      }
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint32_t> flat() const {
    std::vector<std::uint32_t> all;
    for (const auto& row : bits()) all.insert(all.end(), row.begin(), row.end());
    return all;
  }
};

// -- generators -----------------------------------------------------------------------------------------------------------------

float eighths(int i) { return static_cast<float>(i) / 8.f; }

std::vector<float> numbers(std::size_t count) {
  return *rc::gen::container<std::vector<float>>(count, rc::gen::map(rc::gen::inRange(-64, 64), eighths));
}
template <class Rule>
std::vector<typename Run<Rule>::Parameter> any_model() {
  std::vector<typename Run<Rule>::Parameter> list(*rc::gen::inRange<std::size_t>(0, 5));
  for (auto& parameter : list) {
    const auto kind = *rc::gen::inRange(0, 4);
    parameter = {numbers(*rc::gen::inRange<std::size_t>(0, 6)), kind % 2 == 1, kind / 2 == 1};
  }
  return list;
}
template <class List>
std::size_t elements(const List& list) {
  return std::accumulate(list.begin(), list.end(), std::size_t{0}, [](std::size_t sum, const auto& p) { return sum + p.weights.size(); });
}
template <class Rule>
typename Rule::Options any_options() {
  const float lr = static_cast<float>(*rc::gen::inRange(0, 32)) / 64.f, decay = static_cast<float>(*rc::gen::inRange(0, 4)) / 16.f;
  if constexpr (std::is_same_v<Rule, Sgd>) {
    const auto momentum = static_cast<float>(*rc::gen::inRange(0, 4)) / 4.f;
    const bool nesterov = momentum > 0.f && *rc::gen::arbitrary<bool>();
    return {.lr = lr, .momentum = momentum, .dampening = nesterov ? 0.f : static_cast<float>(*rc::gen::inRange(0, 3)) / 4.f, .weight_decay = decay, .nesterov = nesterov};
  } else {
    return {.lr = lr, .beta1 = static_cast<float>(*rc::gen::inRange(0, 8)) / 8.f, .beta2 = static_cast<float>(*rc::gen::inRange(0, 8)) / 8.f, .weight_decay = decay};
  }
}
std::vector<std::vector<float>> any_gradients(std::size_t count, std::size_t at_most = 5) {
  std::vector<std::vector<float>> steps(*rc::gen::inRange<std::size_t>(1, at_most));
  for (auto& step : steps) step = numbers(count);
  return steps;
}

/// Tries a property with both rules.
#define FOR_BOTH_RULES(...)                             \
  holds_for_all([] { [[maybe_unused]] const auto property = __VA_ARGS__; property.template operator()<Sgd>(); }); \
  holds_for_all([] { [[maybe_unused]] const auto property = __VA_ARGS__; property.template operator()<AdamW>(); })

// -- properties -------------------------------------------------------------------------------------------------------------------

TEST_CASE("a_skipped_step_is_the_identity_and_the_run_goes_on_as_if_it_had_not_been") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    const auto options = any_options<Rule>();
    const std::size_t count = elements(list);
    const auto steps = any_gradients(count);
    const auto skipped_at = *rc::gen::inRange<std::size_t>(0, steps.size());
    Run<Rule> run(list, options), straight(list, options);
    RuntimeLossScaler scaler(HostExecutor{}, {.init_scale = 1.f});
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (s == skipped_at && count != 0) {
        auto bad = steps[s];
        bad[*rc::gen::inRange<std::size_t>(0, count)] = mezzo::from_bits<float>(*rc::gen::element(0x7f800000U, 0xff800000U, 0x7fc00000U));
        const auto before = run.flat();
        run.set(bad);
        if (*rc::gen::arbitrary<bool>()) scaler.unscale(run.optimizer);
        scaler.step(run.optimizer);
        RC_ASSERT(run.flat() == before);
        RC_ASSERT(run.optimizer.state().applied_steps == s);
        scaler.reset();  // the scale stays, so that both runs see the same
      }
      run.set(steps[s]);
      scaler.step(run.optimizer);
      scaler.update();
      straight.set(steps[s]);
      straight.optimizer.step();
    }
    RC_ASSERT(run.flat() == straight.flat());
  });
}

TEST_CASE("permuting_the_parameters_permutes_the_result") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    const auto options = any_options<Rule>();
    std::vector<std::size_t> order(list.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
    auto permuted = list;
    for (std::size_t i = 0; i < order.size(); ++i) permuted[i] = list[order[i]];
    Run<Rule> a(list, options), b(permuted, options);
    for (const auto& step : any_gradients(elements(list))) {
      a.set(step);
      std::vector<float> moved;
      for (const std::size_t i : order) {
        std::size_t at = 0;
        for (std::size_t k = 0; k < i; ++k) at += list[k].weights.size();
        moved.insert(moved.end(), step.begin() + static_cast<std::ptrdiff_t>(at), step.begin() + static_cast<std::ptrdiff_t>(at + list[i].weights.size()));
      }
      b.set(moved);
      a.optimizer.step();
      b.optimizer.step();
    }
    const auto left = a.bits(), right = b.bits();
    for (std::size_t i = 0; i < order.size(); ++i) RC_ASSERT(right[i] == left[order[i]]);
  });
}

TEST_CASE("splitting_a_parameter_anywhere_gives_the_same_bits") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    const auto options = any_options<Rule>();
    std::vector<typename Run<Rule>::Parameter> parts;
    for (const auto& p : list) {
      const auto at = static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, p.weights.size() + 1));
      parts.push_back({{p.weights.begin(), p.weights.begin() + at}, p.wide_model, p.wide_gradient});
      parts.push_back({{p.weights.begin() + at, p.weights.end()}, p.wide_model, p.wide_gradient});
    }
    Run<Rule> whole(list, options), split(parts, options);
    for (const auto& step : any_gradients(elements(list))) {
      whole.set(step);
      split.set(step);
      whole.optimizer.step();
      split.optimizer.step();
    }
    RC_ASSERT(whole.flat() == split.flat());
  });
}

TEST_CASE("empty_parameters_anywhere_change_nothing") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    const auto options = any_options<Rule>();
    auto with = list;
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(0, with.size() + 1));
      with.insert(with.begin() + at, {{}, *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()});
    }
    Run<Rule> a(list, options), b(with, options);
    for (const auto& step : any_gradients(elements(list))) {
      a.set(step);
      b.set(step);
      a.optimizer.step();
      b.optimizer.step();
    }
    RC_ASSERT(a.flat() == b.flat());
  });
}

TEST_CASE("a_run_resumed_at_any_step_equals_one_that_never_stopped") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    const auto options = any_options<Rule>();
    const auto steps = any_gradients(elements(list), 6);
    const auto stop = *rc::gen::inRange<std::size_t>(0, steps.size() + 1);
    const auto schedule = mezzo::cosine_schedule(4, 2);
    Run<Rule> straight(list, options), first(list, options), second(list, options);
    for (Run<Rule>* run : {&straight, &first, &second}) run->optimizer.set_schedule(schedule);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (s == stop) break;
      first.set(steps[s]);
      first.optimizer.step();
    }
    second.optimizer.load_state(first.optimizer.state());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto copy = [](auto from, auto to) { std::copy(from.begin(), from.end(), to.begin()); };
      copy(first.optimizer.master(i), second.optimizer.master(i));
      for (int which = 0; which < Rule::moments; ++which) copy(first.optimizer.moment(i, which), second.optimizer.moment(i, which));
    }
    second.optimizer.copy_masters_to_model();
    RC_ASSERT(second.flat() == first.flat());  // loading is the identity
    RC_ASSERT(second.optimizer.state() == first.optimizer.state());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      straight.set(steps[s]);
      straight.optimizer.step();
      if (s < stop) continue;
      second.set(steps[s]);
      second.optimizer.step();
    }
    RC_ASSERT(second.flat() == straight.flat());
  });
}

TEST_CASE("an_explicit_unscale_and_the_size_of_the_scale_change_no_bit") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    const auto options = any_options<Rule>();
    const float scale = std::ldexp(1.f, *rc::gen::inRange(-30, 30));
    Run<Rule> plain(list, options), scaled(list, options);
    RuntimeLossScaler scaler(HostExecutor{}, {.init_scale = scale});
    for (const auto& step : any_gradients(elements(list))) {
      plain.set(step);
      plain.optimizer.step();
      scaled.set(step, scale);
      if (*rc::gen::arbitrary<bool>()) scaler.unscale(scaled.optimizer);
      scaler.step(scaled.optimizer);
      scaler.update();
    }
    RC_ASSERT(scaled.flat() == plain.flat());
  });
}

TEST_CASE("clipping_above_the_norm_changes_nothing_and_below_it_bounds_the_move") {
  holds_for_all([] {
    const auto list = any_model<Sgd>();
    const auto step = numbers(elements(list));
    const Sgd::Options options{.lr = 1.f};
    Run<Sgd> plain(list, options), clipped(list, options);
    double square = 0;
    for (const float g : step) square += static_cast<double>(g) * static_cast<double>(g);
    const auto eighth = *rc::gen::inRange(1, 400);
    const float limit = eighths(eighth);
    RuntimeLossScaler scaler(HostExecutor{}, {.init_scale = 4.f});
    plain.set(step);
    plain.optimizer.step();
    clipped.set(step, 4.f);
    if (*rc::gen::arbitrary<bool>()) scaler.unscale(clipped.optimizer);
    clip_grad_norm(scaler, clipped.optimizer, limit);
    scaler.step(clipped.optimizer);
    RC_ASSERT(clipped.optimizer.state().gradient_norm == std::sqrt(square));  // sums of multiples of 1/64 are exact
    if (std::sqrt(square) + 1e-6 <= static_cast<double>(limit)) RC_ASSERT(clipped.flat() == plain.flat());
    double moved = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t k = 0; k < list[i].weights.size(); ++k) {
        const double move = static_cast<double>(list[i].weights[k]) - static_cast<double>(clipped.optimizer.master(i)[k]);
        moved += move * move;
      }
    }
    // Each weight, at most 8 in size before and 8 + limit after, rounds once: an absolute error of u (16 + limit).
    const double rounding = 0x1p-24 * (16. + static_cast<double>(limit)) * std::sqrt(static_cast<double>(step.size()));
    RC_ASSERT(std::sqrt(moved) <= static_cast<double>(limit) * (1 + 4 * 0x1p-24) + rounding);
  });
}

TEST_CASE("zeroed_gradients_without_decay_and_momentum_move_nothing") {
  holds_for_all([] {
    const auto list = any_model<Sgd>();
    Run<Sgd> run(list, {.lr = .5f});
    run.set(numbers(elements(list)));
    const auto before = run.flat();
    run.optimizer.zero_grad();
    run.optimizer.step();
    auto after = run.flat();
    RC_ASSERT(after == before);
  });
}

TEST_CASE("the_model_is_always_its_master_rounded_once") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    Run<Rule> run(list, any_options<Rule>());
    for (const auto& step : any_gradients(elements(list))) {
      run.set(step);
      run.optimizer.step();
      for (std::size_t i = 0; i < list.size(); ++i) {
        for (std::size_t k = 0; k < run.memory[i].low_model.size(); ++k) {
          RC_ASSERT(to_bits(run.memory[i].low_model[k]) == to_bits(convert<Low>(run.optimizer.master(i)[k])));
        }
      }
    }
  });
}

TEST_CASE("two_optimizers_stepped_jointly_are_skipped_together_or_not_at_all") {
  FOR_BOTH_RULES([]<class Rule>() {
    const auto list = any_model<Rule>();
    const auto options = any_options<Rule>();
    Run<Rule> a(list, options), b(list, options);
    const std::size_t count = elements(list);
    auto left = numbers(count), right = numbers(count);
    const bool bad = count != 0 && *rc::gen::arbitrary<bool>();
    if (bad) (*rc::gen::arbitrary<bool>() ? left : right)[*rc::gen::inRange<std::size_t>(0, count)] = mezzo::element_limits<float>::infinity();
    RuntimeLossScaler scaler(HostExecutor{}, {.init_scale = 1.f});
    a.set(left);
    b.set(right);
    scaler.step(a.optimizer, b.optimizer);
    scaler.update();
    RC_ASSERT(a.optimizer.state().skipped_steps == (bad ? 1u : 0u));
    RC_ASSERT(b.optimizer.state().skipped_steps == (bad ? 1u : 0u));
    RC_ASSERT(scaler.state().skipped_steps == (bad ? 1u : 0u));
  });
}

}  // namespace
