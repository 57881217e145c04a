// What loss scaling adds to an optimizer's step: the whole iteration of the scaler beside `optimizer.step()` alone, taken in
// turns in one run. Also what a skipped step costs.
//
// scaler_overhead/<rule>/<low type>/<model>/<form>/<eager|graph>; counters: benchmarks/README.md.

#include "support/training.cuh"

namespace {

using namespace mezzo;
using namespace mezzo::bench;

enum class Form { step, clip, unscale, unscale_clip, skipped };
constexpr const char* form_name(Form form) {
  switch (form) {
    case Form::step: return "step";
    case Form::clip: return "clip";
    case Form::unscale: return "unscale";
    case Form::unscale_clip: return "unscale+clip";
    default: return "skipped";
  }
}

template <class Rule, class Low>
void scaler_overhead(benchmark::State& state, const Model& model, Form form, bool replayed) {
  Training<Rule, Low> training(model);
  auto& scaler = training.scaler;
  auto& optimizer = training.optimizer;
  const auto plain = [&] { optimizer.step(); };
  const auto scaled = [&] {
    if (form == Form::unscale || form == Form::unscale_clip) scaler.unscale(optimizer);
    if (form == Form::clip || form == Form::unscale_clip) clip_grad_norm(scaler, optimizer, 1.f);
    scaler.step(optimizer);
    scaler.update();
  };
  plain();
  scaled();
  training.stream().wait();

  // The check reads the gradients once; a step that is skipped reads nothing else.
  const double n = static_cast<double>(model.elements());
  const double update_bytes = form == Form::skipped ? 0 : StepBytes<Rule>::update;
  const double footprint = n * (form == Form::skipped ? 2. : StepBytes<Rule>::footprint);
  const auto run_both = [&](auto&& alone, auto&& whole) {
    Clock clock(training.stream());
    std::vector<double> differences, alone_times, alone_queued, whole_queued, alone_wall, whole_wall;
    const int repetitions = std::max(10, repetitions_for(model) / 3);
    for (int i = 0; i < 5; ++i) { alone(); whole(); }
    training.stream().wait();
    for (int i = 0; i < repetitions; ++i) {
      alone_times.push_back(clock.events(alone));
      differences.push_back(clock.events(whole) - alone_times.back());
      alone_queued.push_back(clock.queued(alone));
      whole_queued.push_back(clock.queued(whole));
      alone_wall.push_back(clock.wall(alone));
      whole_wall.push_back(clock.wall(whole));
    }
    measure(state, training.stream(), n * (update_bytes + StepBytes<Rule>::check), footprint, whole);
    state.counters["plain_us"] = median(alone_times);
    state.counters["overhead_us"] = median(differences);
    state.counters["overhead_queued_us"] = median(whole_queued) - median(alone_queued);
    state.counters["overhead_wall_us"] = median(whole_wall) - median(alone_wall);
    state.counters["plain_share_of_copy"] = n * StepBytes<Rule>::update / median(alone_queued) / 1e6 / machine().copy.best();
  };
  const std::uint64_t skipped_before = scaler.state().skipped_steps;
  if (replayed) {
    const Graph alone(training.stream(), plain), whole(training.stream(), scaled);
    if (form == Form::skipped) {
      training.poison();
      measure(state, training.stream(), n * StepBytes<Rule>::check, footprint, whole);
    } else {
      run_both(alone, whole);
    }
  } else if (form == Form::skipped) {
    training.poison();
    measure(state, training.stream(), n * StepBytes<Rule>::check, footprint, scaled);
  } else {
    run_both(plain, scaled);
  }
  const bool any_skipped = scaler.state().skipped_steps != skipped_before;
  if (any_skipped != (form == Form::skipped)) state.SkipWithError("a step was not skipped, or skipped, against the form's name");
}

template <class Rule, class Low>
void add(const Model& model, const std::vector<Form>& forms) {
  for (const Form form : forms) {
    for (const bool replayed : {false, true}) {
      const std::string name = std::string("scaler_overhead/") + rule_name<Rule> + "/" + type_name<Low> + "/" + model.name + "/" +
                               form_name(form) + (replayed ? "/graph" : "/eager");
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { scaler_overhead<Rule, Low>(state, model, form, replayed); })
          ->UseManualTime()
          ->Iterations(repetitions_for(model))
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Form> all{Form::step, Form::clip, Form::unscale, Form::unscale_clip, Form::skipped};
  const std::vector<Form> few{Form::step, Form::skipped};
  for (const Model& model : {resnet18(), gpt2_124m(), tiny()}) {
    add<Sgd, float16>(model, all);
    add<AdamW, float16>(model, all);
    add<Sgd, bfloat16>(model, few);
    add<AdamW, bfloat16>(model, few);
  }
  add<Sgd, float16>(gpt2_1558m(), few);
  add<AdamW, float16>(gpt2_1558m(), few);
  return run(argc, argv);
}
