#include <mezzo/optim/gradient_view.hpp>

#include "support/executors.hpp"

namespace gradient_view_test {

using namespace mezzo;

TEST_CASE("a_view_reads_gradients_of_either_type_as_the_update_rule_will") {
  const HostExecutor executor;
  std::vector<float16> w(3), g(3), v(2);
  std::vector<float> h(2);
  for (std::size_t i = 0; i < 3; ++i) g[i] = convert<float16>(1024.f * static_cast<float>(i));
  h = {3.f * 1024.f, 0x1p-20f};
  MasterOptimizer<Sgd, float16> optimizer{executor, {{w, g}, {v, h}}};
  DynamicLossScaler<LossScaleConfig{.init_scale = 1024.f}> scaler{executor};
  scaler.unscale(optimizer);
  CHECK(optimizer.gradient(0).size() == 3);
  CHECK(optimizer.gradient(0)[2] == 2.f);    // still scaled in memory
  CHECK(convert<float>(g[2]) == 2048.f);
  CHECK(optimizer.gradient(1)[0] == 3.f);    // divided in place, and not once more
  CHECK(h[0] == 3.f);
  CHECK(optimizer.gradient(1)[1] == 0x1p-30f);
}

TEST_CASE("before_any_check_a_view_reads_what_is_there") {
  const HostExecutor executor;
  std::vector<float16> w(1), g{convert<float16>(7.f)};
  MasterOptimizer<Sgd, float16> optimizer{executor, {{w, g}}};
  CHECK(optimizer.gradient(0)[0] == 7.f);
}

}  // namespace gradient_view_test
