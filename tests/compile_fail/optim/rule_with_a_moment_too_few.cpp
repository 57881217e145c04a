// error: MasterOptimizer: a rule needs a static update(const Scalars&, float& weight, float gradient, float& moment...) with as many moments as Rule::moments
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
struct Rule {
  struct Options {
    float lr = 1.f;
  };
  struct Scalars {
    float lr;
  };
  static constexpr int moments = 1;
  static void validate(const Options&, std::source_location) {}
  static Scalars scalars(const Options& options, double, std::uint64_t) { return {options.lr}; }
#ifdef CONTROL
  static void update(const Scalars& s, float& weight, float gradient, float& moment) { weight -= s.lr * gradient + moment; }
};
std::uint64_t id(MasterOptimizer<Rule, float16>& optimizer) { return optimizer.id(); }
#else
  static void update(const Scalars& s, float& weight, float gradient) { weight -= s.lr * gradient; }
};
std::uint64_t id(MasterOptimizer<Rule, float16>& optimizer) { return optimizer.id(); }
#endif
