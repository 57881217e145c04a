#include <mezzo/optim/update_rule.hpp>

#include "support/executors.hpp"

/// A rule from outside the library: sign descent with one moment that counts.
struct SignDescent {
  struct Options {
    float lr = 1.f;
  };
  struct Scalars {
    float lr;
  };
  static constexpr int moments = 1;
  static void validate(const Options&, std::source_location) {}
  MEZZO_HOST_DEVICE static Scalars scalars(const Options&, double lr, std::uint64_t step) {
    return {mezzo::exact::to_float(mezzo::exact::mul(lr, static_cast<double>(step)))};
  }
  MEZZO_HOST_DEVICE static void update(const Scalars& s, float& weight, float gradient, float& count) {
    weight = mezzo::exact::sub(weight, gradient > 0.f ? s.lr : gradient < 0.f ? -s.lr : 0.f);
    count = mezzo::exact::add(count, 1.f);
  }
};

struct NoMoments : SignDescent {
  static constexpr int moments = 0;
  MEZZO_HOST_DEVICE static void update(const Scalars& s, float& weight, float gradient) { weight = mezzo::exact::fma(-s.lr, gradient, weight); }
};

namespace update_rule_test {

using namespace mezzo;
static_assert(UpdateRule<SignDescent> && UpdateRule<NoMoments> && UpdateRule<Sgd> && UpdateRule<AdamW> && !UpdateRule<int>);
static_assert(mezzo::detail::updates_elements<NoMoments> && mezzo::detail::needs_float_moments<AdamW> && !mezzo::detail::needs_float_moments<Sgd>);

TEST_CASE_TEMPLATE("a_rule_of_the_users_runs_like_the_librarys", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const test::Buffer<float16> w(executor, std::vector<float16>(3)), g(executor, std::vector<float16>{convert<float16>(2.f), convert<float16>(-2.f), float16{}});
  MasterOptimizer<SignDescent, float16> optimizer{executor, {{w.span(), g.span()}}, SignDescent::Options{.lr = .5f}};
  optimizer.step();
  optimizer.step();  // lr * step: .5, then 1
  CHECK(convert<float>(w.read()[0]) == -1.5f);
  CHECK(convert<float>(w.read()[1]) == 1.5f);
  CHECK(convert<float>(w.read()[2]) == 0.f);
  float count = 0;
  executor.copy(&count, optimizer.moment(0, 0).data(), sizeof count);
  executor.wait();
  CHECK(count == 2.f);
}

TEST_CASE_TEMPLATE("a_rule_may_keep_nothing", E, MEZZO_TEST_EXECUTORS) {
  MEZZO_TEST_EXECUTOR(E, executor);
  const test::Buffer<float> w(executor, std::vector<float>(1)), g(executor, std::vector<float>{1.f});
  MasterOptimizer<NoMoments, float> optimizer{executor, {{w.span(), g.span()}}, NoMoments::Options{.lr = .5f}};
  optimizer.step();
  CHECK(w.read()[0] == -.5f);
}

}  // namespace update_rule_test
