#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "types.hpp"

#include <mezzo/executor/host.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
#include <mezzo/policy/parameter_view.hpp>

using namespace mezzo;
using namespace mezzo::test;

namespace {

using Policy = Autocast<float16>;

struct Weights {  // a user's own parameter
  std::vector<float16> model{convert<float16>(1.f)};
  std::vector<float> master{1.0001f};
};

template <class Op, class P = Policy>
float seen_by(const BasicParameter<float16>& parameter, std::string* type = nullptr) {
  return visit_argument<P, Op>(parameter, [&](auto view) {
    if (type != nullptr) *type = element_traits<typename decltype(view)::value_type>::name;
    return convert<float>(typename decltype(view)::value_type(view[0]));
  });
}

}  // namespace

TEST_CASE("an op in low precision reads the model's copy, an op in float the master itself") {
  const Weights weights;
  static_assert(same<decltype(argument_view<Policy, op::linear>(weights)[0]), const float16&>);
  CHECK(convert<float>(argument_view<Policy, op::linear>(weights)[0]) == 1.f);
  static_assert(same<decltype(argument_view<Policy, op::layer_norm>(weights)[0]), const float&>);
  CHECK(&argument_view<Policy, op::layer_norm>(weights)[0] == weights.master.data());
}
TEST_CASE("another low type is converted from the model's copy as it is loaded") {
  const Weights weights;
  const auto view = argument_view<Autocast<bfloat16>, op::linear>(weights);
  static_assert(same<decltype(view[0]), bfloat16>);
  CHECK(convert<float>(view[0]) == 1.f);
}
TEST_CASE("an op that reads its arguments as they are reads the model's copy") {
  const Weights weights;
  static_assert(same<decltype(argument_view<Policy, op::softmax>(weights)[0]), const float16&>);
  static_assert(same<decltype(argument_view<Policy::disabled, op::layer_norm>(weights)[0]), const float16&>);
}
TEST_CASE("the members of a parameter may be arrays") {
  struct {
    float16 model[2]{};
    float master[2]{0.f, 1.0001f};
  } const weights;
  CHECK(&argument_view<Policy, op::layer_norm>(weights)[1] == &weights.master[1]);
  CHECK(argument_view<Policy, op::linear>(weights).size() == 2);
}
TEST_CASE("a master of another size is refused, an empty one is none to a visitor") {
  Weights weights;
  weights.master.clear();
  std::string message;
  try {
    argument_view<Policy, op::layer_norm>(weights);
  } catch (const InvalidArgument& error) {
    message = error.what();
  }
  CHECK(message.find("argument_view: the master must have the model's 1 elements, got 0") != std::string::npos);
  CHECK(message.rfind("parameter_view_test.cpp:", 0) == 0);
  const auto first = [](auto view) { return static_cast<float>(view[0]); };
  CHECK(visit_argument<Policy, op::layer_norm>(weights, first) == 1.f);
  weights.master.push_back(1.0001f);
  CHECK(visit_argument<Policy, op::layer_norm>(weights, first) == 1.0001f);
}

TEST_CASE("an optimizer's parameter: model of the low type with a master") {
  std::vector<float16> model{convert<float16>(1.f)}, gradient(1);
  std::vector<float> master{1.0001f};
  const BasicParameter<float16> parameter{.model = model, .gradient = gradient, .master = master};
  std::string type;
  CHECK(seen_by<op::layer_norm>(parameter, &type) == 1.0001f);
  CHECK(type == "float32");
  CHECK(seen_by<op::linear>(parameter, &type) == 1.f);
  CHECK(type == "float16");
}
TEST_CASE("an optimizer's parameter without a given master is read from the model, widened") {
  std::vector<float16> model{convert<float16>(1.5f)}, gradient(1);
  const BasicParameter<float16> parameter{.model = model, .gradient = gradient};
  std::string type;
  CHECK(seen_by<op::layer_norm>(parameter, &type) == 1.5f);
  CHECK(type == "float32");
}
TEST_CASE("an optimizer's float parameter is its own master, and is narrowed for an op in low precision") {
  std::vector<float> model{1.0001f}, gradient(1);
  const BasicParameter<float16> parameter{.model = model, .gradient = gradient};
  std::string type;
  CHECK(seen_by<op::layer_norm>(parameter, &type) == 1.0001f);
  CHECK(type == "float32");
  CHECK(seen_by<op::linear>(parameter, &type) == convert<float>(convert<float16>(1.0001f)));
  CHECK(type == "float16");
}
TEST_CASE("an op in float reads the master that the optimizer keeps, of a float parameter the model") {
  std::vector<float16> weights(2, convert<float16>(1.f)), gradients(2, convert<float16>(1.f));
  std::vector<float> bias(1, 1.f), bias_gradients(1, 1.f);
  const HostExecutor executor;
  MasterOptimizer<Sgd, float16> optimizer{executor, {{weights, gradients}, {bias, bias_gradients}}, Sgd::Options{.lr = 0x1p-14f}};
  optimizer.step();  // too little for the float16 copy, not for the master
  const auto first = [](auto view) { return convert<float>(typename decltype(view)::value_type(view[0])); };
  CHECK(visit_argument<Policy, op::layer_norm>(optimizer, 0, first) == 1.f - 0x1p-14f);
  CHECK(visit_argument<Policy, op::linear>(optimizer, 0, first) == 1.f);
  CHECK(visit_argument<Policy, op::layer_norm>(optimizer, 1, first) == 1.f - 0x1p-14f);
  CHECK(visit_argument<Policy, op::linear>(optimizer, 1, first) == 1.f);
}
