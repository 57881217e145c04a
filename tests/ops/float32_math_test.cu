#include <mezzo/ops/float32_math.hpp>

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "ops/ops_testing.hpp"

namespace {

using namespace mezzo::test;
using mezzo::CudaExecutor;
using mezzo::Float32Math;
using Policy = mezzo::Autocast<float>;

/// Sums of n products in float, of operands cut to 11 significant bits: each loses up to 2^-10 of itself.
long double tf32_bound(std::size_t n, long double magnitude) {
  const long double product = 2 * 0x1p-10L + 0x1p-20L;
  return (product + (1 + product) * gamma_n<float>(n)) * magnitude;
}

/// Compares with both bounds; returns how many results are outside of that of float32.
std::size_t beyond_float32(const std::vector<float>& got, const std::vector<Sums>& expected) {
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const long double error = std::abs(exact(got[i]) - expected[i].value);
    REQUIRE(error <= tf32_bound(expected[i].terms, expected[i].magnitude));
    if (error > gamma_n<float>(expected[i].terms) * expected[i].magnitude) ++beyond;
  }
  return beyond;
}

TEST_CASE("products_are_exact_by_default_and_tf32_where_it_is_set") {
  MEZZO_TEST_EXECUTOR(CudaExecutor, executor);
  const mezzo::GemmShape shape{.m = 96, .n = 64, .k = 32};
  const auto a = random_values<float>(96 * 32, 1), b = random_values<float>(32 * 64, 2);
  std::vector<Sums> expected(96 * 64);
  for (std::size_t i = 0; i < 96; ++i)
    for (std::size_t j = 0; j < 64; ++j)
      for (std::size_t k = 0; k < 32; ++k) expected[i * 64 + j].add(exact(a[i * 32 + k]) * exact(b[k * 64 + j]));
  const Buffer<float> left(executor, a), right(executor, b), c(executor, expected.size());
  mezzo::Workspace workspace{executor, mezzo::matmul_workspace_bytes<float>(executor, shape)};
  CHECK(mezzo::float32_math(workspace) == Float32Math::ieee);
  mezzo::matmul<Policy>(workspace, shape, left, right, c);
  CHECK(beyond_float32(c.read(), expected) == 0);
  mezzo::set_float32_math(workspace, Float32Math::tf32);
  CHECK(mezzo::float32_math(workspace) == Float32Math::tf32);
  mezzo::matmul<Policy>(workspace, shape, left, right, c);
  CHECK(beyond_float32(c.read(), expected) > expected.size() / 2);
  mezzo::set_float32_math(workspace, Float32Math::ieee);  // the first plan again
  mezzo::matmul<Policy>(workspace, shape, left, right, c);
  CHECK(beyond_float32(c.read(), expected) == 0);
}

TEST_CASE("convolutions_are_exact_by_default_and_tf32_where_it_is_set") {
  MEZZO_TEST_EXECUTOR(CudaExecutor, executor);
  // Enough products for cuDNN's kernels to be timed, as a small convolution may run on a kernel of full precision anyway;
  // few in each sum, so that tf32's error stands out from the bound of float32.
  const mezzo::Conv2dShape shape{.batch = 65, .height = 32, .width = 32, .in_channels = 64, .out_channels = 64, .kernel = 1, .stride = 2, .padding = 0};
  const auto x = random_values<float>(65 * 1024 * 64, 1), w = random_values<float>(64 * 64, 2);
  std::vector<Sums> expected(256 * 64);  // the first image
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 16; ++j)
      for (std::size_t o = 0; o < 64; ++o)
        for (std::size_t k = 0; k < 64; ++k) expected[(i * 16 + j) * 64 + o].add(exact(x[(2 * i * 32 + 2 * j) * 64 + k]) * exact(w[o * 64 + k]));
  const Buffer<float> in(executor, x), weights(executor, w), y(executor, 65 * 256 * 64);
  const auto first_image = [&] {
    auto values = y.read();
    values.resize(expected.size());
    return values;
  };
  mezzo::Workspace workspace{executor, mezzo::conv2d_workspace_bytes<float>(executor, shape)};
  mezzo::conv2d<Policy>(workspace, shape, in, weights, y);
  CHECK(beyond_float32(first_image(), expected) == 0);
  mezzo::set_float32_math(workspace, Float32Math::tf32);
  mezzo::conv2d<Policy>(workspace, shape, in, weights, y);
  CHECK(beyond_float32(first_image(), expected) > expected.size() / 2);
}

TEST_CASE("the_host_computes_in_full_precision_whatever_is_set") {
  const mezzo::HostExecutor host;
  const mezzo::GemmShape shape{.m = 2, .n = 2, .k = 1};
  mezzo::Workspace workspace{host, mezzo::matmul_workspace_bytes<float>(host, shape)};
  mezzo::set_float32_math(workspace, Float32Math::tf32);
  std::vector<float> a{1.f + 0x1p-23f, 3.f}, b{1.f, 1.f}, c(4);
  mezzo::matmul<Policy>(workspace, shape, a, b, c);
  CHECK(c == std::vector<float>{1.f + 0x1p-23f, 1.f + 0x1p-23f, 3.f, 3.f});
}

}  // namespace
