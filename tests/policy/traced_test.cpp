#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "types.hpp"

#include <mezzo/policy/traced.hpp>

using namespace mezzo;
using namespace mezzo::test;

namespace {

using Policy = Autocast<float16>;
using T = Traced<Policy>;

std::uint64_t count_of(std::string_view op, const std::vector<std::string_view>& given) {
  for (const TracedCall& call : traced_calls()) {
    if (call.op == op && call.given == given) return call.count;
  }
  return 0;
}

}  // namespace

TEST_CASE("a traced policy has the types of its policy, for every rule") {
  static_assert(call_is<T, lower, List<float>, List<float16>, float16, float16>);
  static_assert(call_is<T, full, List<float16>, List<float>, float, float>);
  static_assert(call_is<T, output, List<float16>, List<float16>, float, float>);
  static_assert(call_is<T, promote, List<float16, float>, List<float, float>, float, float>);
  static_assert(call_is<T::disabled, lower, List<float>, List<float>, float, float>);
}
TEST_CASE("regions, overrides and other low types made from it are traced too, and lead back") {
  static_assert(same<T::disabled, Traced<Policy::disabled>> && same<T::disabled::enabled, T>);
  static_assert(same<with_t<T, op::exp, CastRule::promote>, Traced<with_t<Policy, op::exp, CastRule::promote>>>);
  static_assert(same<T::with_low<bfloat16>, Traced<Autocast<bfloat16>>>);
  static_assert(same<T::with_each<CastRule::promote, op::exp>, Traced<Policy::with_each<CastRule::promote, op::exp>>>);
  static_assert(same<T::with_rule<CastRule::promote, CastRule::float32>, Traced<Policy::with_rule<CastRule::promote, CastRule::float32>>>);
}
TEST_CASE("calls are counted by op and types, and a call that never ran is not there") {
  clear_trace();
  for (int n = 0; n < 3; ++n) autocast<T, op::exp>([](float x) { return x; }, float16{});
  autocast<T, op::exp>([](float x) { return x; }, 1.f);
  autocast<T, op::addcmul>([](auto a, auto) { return a; }, float16{}, 1.f);
  if (traced_calls().empty()) autocast<T, op::tan>([](float x) { return x; }, 1.f);  // compiled, never run
  CHECK(count_of("exp", {"float16"}) == 3);
  CHECK(count_of("exp", {"float32"}) == 1);
  CHECK(count_of("addcmul", {"float16", "float32"}) == 1);
  CHECK(count_of("tan", {"float32"}) == 0);
  CHECK(traced_calls().size() == 3);
}
TEST_CASE("a counted call says its rule, what each argument was read as, and what it computed and returned") {
  clear_trace();
  autocast<T, op::matmul>([](auto a, int) { return a; }, 1.f, 2);
  const auto calls = traced_calls();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].rule == CastRule::lower_precision);
  CHECK(calls[0].given == std::vector<std::string_view>{"float32", "int32"});
  CHECK(calls[0].read_as == std::vector<std::string_view>{"float16", "int32"});
  CHECK(calls[0].compute == "float16");
  CHECK(calls[0].result == "float16");
  CHECK(trace_text() == "1 x matmul (lower_precision): float32, int32 -> float16, int32 -> float16\n");
}
TEST_CASE("clearing sets every count to zero, and counting goes on") {
  autocast<T, op::exp>([](float x) { return x; }, float16{});
  clear_trace();
  CHECK(traced_calls().empty());
  CHECK(trace_text().empty());
  autocast<T, op::exp>([](float x) { return x; }, float16{});
  CHECK(count_of("exp", {"float16"}) == 1);
}
TEST_CASE("threads count together") {
  clear_trace();
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([] {
      for (int k = 0; k < 1000; ++k) autocast<T, op::log>([](float x) { return x; }, 1.f);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(count_of("log", {"float32"}) == 4000);
}
TEST_CASE("an op that does not go through autocast reports itself; under another policy that does nothing") {
  clear_trace();
  trace_call<T, op::conv2d, float16, float16>();
  trace_call<Policy, op::conv2d, float16, float16>();
  CHECK(count_of("conv2d", {"float16", "float16"}) == 1);
}
TEST_CASE("an op may say itself which part of it ran, what it read and what it wrote") {
  clear_trace();
  trace_call<T, op::conv2d, TracedPass::weight_gradient, float(float16, float16)>();
  trace_call<T, op::conv2d, TracedPass::forward, float16(float16, float16)>();
  trace_call<Policy, op::conv2d, TracedPass::forward, float16(float16, float16)>();
  const auto calls = traced_calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].pass == TracedPass::weight_gradient);
  CHECK(calls[0].result == "float32");
  CHECK(calls[1].pass == TracedPass::forward);
  CHECK(trace_text() ==
        "1 x conv2d weight_gradient (lower_precision): float16, float16 -> float16, float16 -> float32\n"
        "1 x conv2d (lower_precision): float16, float16 -> float16, float16 -> float16\n");
}
TEST_CASE("every part has its name in the text") {
  clear_trace();
  trace_call<T, op::linear, TracedPass::backward, float16(float16)>();
  trace_call<T, op::linear, TracedPass::data_gradient, float16(float16)>();
  trace_call<T, op::linear, TracedPass::bias_gradient, float16(float16)>();
  CHECK(trace_text() ==
        "1 x linear backward (lower_precision): float16 -> float16 -> float16\n"
        "1 x linear data_gradient (lower_precision): float16 -> float16 -> float16\n"
        "1 x linear bias_gradient (lower_precision): float16 -> float16 -> float16\n");
}
TEST_CASE("kinds stand in the order in which they first ran, and one kind under two policies is one line") {
  using Other = T::with<op::tan, CastRule::lower_precision>;
  const auto run = []<class P>(P) { autocast<P, op::sinh>([](float x) { return x; }, 1.f); };
  clear_trace();
  autocast<T, op::cosh>([](float x) { return x; }, 1.f);
  run(T());
  autocast<T, op::acos>([](float x) { return x; }, 1.f);
  run(Other());
  run(Other());
  CHECK(trace_text() ==
        "1 x cosh (float32): float32 -> float32 -> float32\n"
        "3 x sinh (float32): float32 -> float32 -> float32\n"
        "1 x acos (float32): float32 -> float32 -> float32\n");
}
TEST_CASE("a policy derived from a traced one counts too, and a traced policy of a user's own policy has its types") {
  struct Mixed : T::with<op::exp, CastRule::lower_precision> {};
  struct Own : Policy {};
  static_assert(call_is<Mixed, op::exp, List<float>, List<float16>, float16, float16>);
  static_assert(call_is<Traced<Own>, op::exp, List<float16>, List<float>, float, float>);
  clear_trace();
  autocast<Mixed, op::exp>([](float16 x) { return x; }, 1.f);
  autocast<Traced<Own>, op::log2>([](float x) { return x; }, 1.f);
  CHECK(count_of("exp", {"float32"}) == 1);
  CHECK(count_of("log2", {"float32"}) == 1);
}
TEST_CASE("a disabled region is counted with the rule at work, pass_through") {
  clear_trace();
  autocast<Traced<Policy::disabled>, op::matmul>([](float x) { return x; }, 1.f);
  autocast<T::disabled, op::matmul>([](float x) { return x; }, 1.f);
  CHECK(trace_text() == "2 x matmul (pass_through): float32 -> float32 -> float32\n");
}
TEST_CASE("calls in constant expressions are not counted") {
  clear_trace();
  constexpr float y = autocast<T, op::exp>([](float x) { return x + 1.f; }, 1.f);
  CHECK(y == 2.f);
  CHECK(traced_calls().empty());
}
