// The code of docs/policies.md, compiled and run. check_guide.sh compares the two.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <vector>

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <mezzo/policy/cast_report.hpp>
#include <mezzo/policy/dispatch.hpp>
#include <mezzo/policy/environment.hpp>
#include <mezzo/policy/mdspan_view.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/traced.hpp>
#include <mezzo/policy/view.hpp>

#include "support/skip.hpp"

using namespace mezzo;

namespace before {
__global__ void softplus(const float* x, float* y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = log1pf(expf(x[i]));
}
}  // namespace before

template <class In, class Out>
__global__ void softplus(In x, Out y) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < x.size()) y[i] = log1pf(expf(x[i]));
}

using Policy = Autocast<float16>;

template <class Policy, class X, class Y>
void softplus_under(const X& x, Y& y) {
  using Element = typename X::value_type;
  const auto in = argument_view<Policy, op::softplus>(x);             // [n] float16 in memory, read as float
  const auto out = result_view<Policy, op::softplus, Element>(y);     // [n] float16 in memory, a float is stored rounded once
  softplus<<<static_cast<unsigned>((in.size() + 255) / 256), 256>>>(in, out);
}

static_assert(std::is_same_v<argument_type_t<Policy, op::matmul, float>, float16>);        // lower_precision
static_assert(std::is_same_v<compute_type_t<Policy, op::exp, float16>, float>);            // float32
static_assert(std::is_same_v<argument_type_t<Policy, op::softmax, float16>, float16>);     // float32_output: read as it is,
static_assert(std::is_same_v<result_type_t<Policy, op::softmax, float16>, float>);         // float comes out
static_assert(std::is_same_v<argument_type_t<Policy, op::add, float16, float>, float>);    // promote: asked about, then the others
static_assert(std::is_same_v<result_type_t<Policy, op::relu, float16>, float16>);          // pass_through

struct swish {
  static constexpr std::string_view name = "swish";
  static constexpr CastRule rule = CastRule::float32;
};

template <class Policy>
__device__ float16 gate(float16 x) {
  const auto y = autocast<Policy, swish>([](float v) { return v / (1.f + expf(-v)); }, x);   // float: swish follows float32
  return convert<float16>(y);
}

using Tuned = Policy::with<op::softmax, CastRule::lower_precision>;             // one op
using Careful = Policy::with_each<CastRule::float32, op::conv2d, op::linear>;   // several
using Wide = Policy::with_rule<CastRule::float32_output, CastRule::float32>;    // all ops of a rule, yours included
using Brain = Tuned::with_low<bfloat16>;                                        // the same overrides with another low type
using Off = Tuned::disabled;                                                    // a region without autocast
static_assert(std::is_same_v<Off::enabled, Tuned>);                             // and back

struct scaled_exp {
  using cast_inputs = float;      // forward receives floats and runs with autocast off
  template <class P>
  static auto forward(Context<P>, float x) {
    const float y = std::exp(2.f * x);
    return saved(y, y);           // the output, then what the backward needs
  }
  template <class P>
  static auto backward(const Context<P, float>& context, float dy) {
    const auto& [y] = context;
    return 2.f * y * dy;
  }
};

template <class Policy>
float loss_of_an_epoch() {
  return static_cast<float>(sizeof(typename Policy::low_type));
}

float run(std::string_view precision) {
  static constexpr PolicyChoices<Autocast<float>, Autocast<float16>, Autocast<bfloat16>> precisions{"float32", "float16", "bfloat16"};
  return precisions.dispatch(precision, [&]<class Policy>(Policy) { return loss_of_an_epoch<Policy>(); });
}

TEST_CASE("the kernel of the guide gives the same result under the policy as before, to the rounding of float16") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) MEZZO_SKIP("no GPU here");
  const std::vector<float> values{-2.f, -1.f, 0.f, .5f, 1.f, 3.f};  // float16 holds them exactly
  std::vector<float16> halves;
  for (const float value : values) halves.push_back(convert<float16>(value));

  const thrust::device_vector<float> x(values.begin(), values.end());
  thrust::device_vector<float> y(values.size());
  before::softplus<<<1, 32>>>(x.data().get(), y.data().get(), x.size());
  const thrust::device_vector<float16> half_x(halves.begin(), halves.end());
  thrust::device_vector<float16> half_y(values.size());
  softplus_under<Policy>(half_x, half_y);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  std::vector<float> expected(values.size());
  std::vector<float16> got(values.size());
  REQUIRE(cudaMemcpy(expected.data(), y.data().get(), expected.size() * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
  REQUIRE(cudaMemcpy(got.data(), half_y.data().get(), got.size() * sizeof(float16), cudaMemcpyDeviceToHost) == cudaSuccess);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(to_bits(got[i]) == to_bits(convert<float16>(expected[i])));

  const auto view = argument_view<Policy, op::sum, float>(half_x);
  const auto wide = convert_view<float>(half_x);
  const float total = thrust::reduce(thrust::device, wide.begin(), wide.end(), 0.f);
  CHECK(total == 1.5f);
  CHECK(view.size() == half_x.size());
}
TEST_CASE("the custom op of the guide returns its value and its derivative") {
  const auto [y, context] = custom_fwd<Policy, scaled_exp>(convert<float16>(.5f));
  const auto dx = custom_bwd<scaled_exp>(context, 1.f);   // under the policy of its forward: the context's type names it
  CHECK(y == std::exp(1.f));
  CHECK(dx == 2.f * y);
}
TEST_CASE("the run-time choice of the guide picks the named policy") {
  CHECK(run("float32") == 4.f);
  CHECK(run("bfloat16") == 2.f);
}
TEST_CASE("the report and the trace of the guide name ops and types") {
  CHECK(cast_report<Policy, OpList<swish>>().text().find("swish  float32          float16      float32") != std::string::npos);
  clear_trace();
  autocast<Traced<Policy>, swish>([](float v) { return v; }, convert<float16>(1.f));
  CHECK(trace_text() == "1 x swish (float32): float16 -> float32 -> float32\n");
}
