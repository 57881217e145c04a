#include <mezzo/ops/accumulate.hpp>

#include <cmath>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::Accumulate;

static_assert(std::is_same_v<mezzo::sum_type_t<std::vector<mezzo::float16>&>, float>);
static_assert(std::is_same_v<mezzo::sum_type_t<const std::vector<mezzo::bfloat16>&>, float>);
static_assert(std::is_same_v<mezzo::sum_type_t<mezzo::Span<const float>>, float>);
static_assert(std::is_same_v<mezzo::sum_type_t<const Buffer<double>&>, double>);
static_assert(std::is_same_v<mezzo::sum_type_t<mezzo::Span<const double>>, double>);

// That a sum is right is tested with each op. Here: in every op that accumulates, `no` never reads what was there, and `yes`
// keeps it.
TEST_CASE_TEMPLATE("overwriting_reads_nothing_and_adding_keeps_what_is_there_in_every_op", Case, MEZZO_OPS_CASES) {
  using T = typename Case::Element;
  using Sum = sum_of_t<T>;
  using P = policy_of<T>;
  MEZZO_TEST_EXECUTOR(typename Case::Executor, executor);
  mezzo::Workspace workspace{executor, 1 << 20};
  const mezzo::Conv2dShape conv{.batch = 1, .height = 2, .width = 2, .in_channels = 2, .out_channels = 2, .kernel = 1, .stride = 1, .padding = 0};
  const mezzo::LinearShape layer{.batch = 2, .in_features = 4, .out_features = 2};
  const mezzo::GemmShape product{.m = 2, .n = 2, .k = 2};
  const mezzo::ImageShape image{.batch = 1, .height = 2, .width = 2, .channels = 2};
  const Buffer<T> zeros(executor, std::vector<T>(8, mezzo::convert<T>(0.f)));
  const Buffer<Sum> ones(executor, std::vector<Sum>(2, 1));
  const Buffer<std::uint8_t> labels(executor, std::vector<std::uint8_t>{0, 1});
  const auto four = [&] { return zeros.span().subspan(0, 4); };
  // With operands of zero each op gives zero, or adds zero.
  const auto check = [&](const char* name, std::size_t size, auto tag, auto&& call) {
    using Element = decltype(tag);
    CAPTURE(name);
    const Buffer<Element> nan(executor, std::vector<Element>(size, mezzo::element_limits<Element>::quiet_nan()));
    call(nan, Accumulate::no);
    CHECK(bits_of(nan.read()) == bits_of(std::vector<Element>(size, mezzo::convert<Element>(0.f))));
    const auto old = random_values<Element>(size, 5);
    const Buffer<Element> kept(executor, old);
    call(kept, Accumulate::yes);
    CHECK(bits_of(kept.read()) == bits_of(old));
  };
  check("conv2d_data_gradient", 8, T{}, [&](const auto& out, Accumulate how) { mezzo::conv2d_data_gradient<P>(workspace, conv, zeros, four(), out, how); });
  check("conv2d_weight_gradient", 4, T{}, [&](const auto& out, Accumulate how) { mezzo::conv2d_weight_gradient<P>(workspace, conv, zeros, zeros, out, how); });
  check("matmul", 4, T{}, [&](const auto& out, Accumulate how) { mezzo::matmul<P>(workspace, product, four(), four(), out, how); });
  check("linear_data_gradient", 8, T{}, [&](const auto& out, Accumulate how) { mezzo::linear_data_gradient<P>(workspace, layer, four(), zeros, out, how); });
  check("linear_weight_gradient", 8, T{}, [&](const auto& out, Accumulate how) { mezzo::linear_weight_gradient<P>(workspace, layer, zeros, four(), out, how); });
  check("linear_bias_gradient", 2, Sum{}, [&](const auto& out, Accumulate how) { mezzo::linear_bias_gradient<P>(workspace, layer, four(), out, how); });
  const Buffer<T> dx(executor, 8);
  const Buffer<Sum> other(executor, 2);
  check("batch_norm_backward, gamma", 2, Sum{}, [&](const auto& out, Accumulate how) {
    mezzo::batch_norm_backward<P>(workspace, image, zeros, zeros, {.gamma = ones.span(), .beta = {}}, {.mean = ones.span(), .inv_std = ones.span()}, dx,
                                  {.gamma = out.span(), .beta = other.span()}, how);
  });
  check("batch_norm_backward, beta", 2, Sum{}, [&](const auto& out, Accumulate how) {
    mezzo::batch_norm_backward<P>(workspace, image, zeros, zeros, {.gamma = ones.span(), .beta = {}}, {.mean = ones.span(), .inv_std = ones.span()}, dx,
                                  {.gamma = other.span(), .beta = out.span()}, how);
  });
  const mezzo::ClassificationShape one_class{.batch = 1, .classes = 1};  // the loss of a certain answer is 0
  check("cross_entropy", 1, Sum{}, [&](const auto& out, Accumulate how) {
    mezzo::cross_entropy<P>(workspace, one_class, zeros.span().subspan(0, 1), labels.span().subspan(0, 1), {.loss = out.span()}, how);
  });
}

}  // namespace
