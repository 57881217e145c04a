// One training step of the optimizer: check of the gradients, update of moments, masters and low-precision model, and the
// scaler's update. Called eagerly, and replayed from a CUDA graph.
//
// optimizer_step/<rule>/<low type>/<model>/<eager|graph>; counters: benchmarks/README.md.

#include "support/training.cuh"

namespace {

using namespace mezzo;
using namespace mezzo::bench;

template <class Rule, class Low>
void optimizer_step(benchmark::State& state, const Model& model, bool replayed) {
  Training<Rule, Low> training(model);
  const auto step = [&] {
    training.scaler.step(training.optimizer);
    training.scaler.update();
  };
  const double n = static_cast<double>(model.elements());
  const double bytes = n * (StepBytes<Rule>::update + StepBytes<Rule>::check);
  const double footprint = n * StepBytes<Rule>::footprint;
  step();  // outside the capture: modules are loaded lazily
  training.stream().wait();
  if (replayed) {
    const Graph graph(training.stream(), step);
    measure(state, training.stream(), bytes, footprint, graph);
  } else {
    measure(state, training.stream(), bytes, footprint, step);
  }
  const OptimizerState after = training.optimizer.state();
  if (after.skipped_steps != 0) state.SkipWithError("steps were skipped: the figures are not of a whole step");
  if (after.applied_steps < static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("fewer steps applied than timed");
}

template <class Rule, class Low>
void add(const Model& model) {
  for (const bool replayed : {false, true}) {
    const std::string name = std::string("optimizer_step/") + rule_name<Rule> + "/" + type_name<Low> + "/" + model.name +
                             (replayed ? "/graph" : "/eager");
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { optimizer_step<Rule, Low>(state, model, replayed); })
        ->UseManualTime()
        ->Iterations(repetitions_for(model))
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const Model& model : {resnet18(), gpt2_124m(), tiny()}) {
    add<AdamW, float16>(model);
    add<AdamW, bfloat16>(model);
    add<Sgd, float16>(model);
    add<Sgd, bfloat16>(model);
  }
  add<AdamW, float16>(gpt2_1558m());
  add<Sgd, float16>(gpt2_1558m());
  return run(argc, argv);
}
