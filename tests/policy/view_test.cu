// Converting views, autocast and custom ops in kernels and in Thrust algorithms, against the same functions on the host.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>

#include <mezzo/policy/mdspan_view.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/view.hpp>

#include "support/skip.hpp"

using namespace mezzo;

namespace {

using Policy = Autocast<float16>;

bool device_is_missing() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0;
}
#define NEEDS_DEVICE \
  if (device_is_missing()) MEZZO_SKIP("no GPU here")

/// The function under test, for host and device.
struct Square {
  MEZZO_HOST_DEVICE float operator()(float x) const { return exact::mul(x, x); }
};

template <class In, class Out>
MEZZO_HOST_DEVICE void square_element(const In& in, const Out& out, std::size_t i) {
  out[i] = autocast<Policy, op::exp>(Square(), in[i]);
}

template <class In, class Out>
__global__ void square_kernel(In in, Out out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < in.size()) square_element(in, out, i);
}

/// Every pattern of a 16-bit type.
template <class T>
std::vector<T> all_patterns() {
  std::vector<T> values(65536);
  for (unsigned k = 0; k < 65536; ++k) values[k] = from_bits<T>(static_cast<std::uint16_t>(k));
  return values;
}

template <class T>
std::vector<T> to_host(const thrust::device_vector<T>& device) {
  std::vector<T> host(device.size());
  REQUIRE(cudaMemcpy(host.data(), device.data().get(), host.size() * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
  return host;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool ran() { return cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess; }

}  // namespace

TEST_CASE_TEMPLATE("a kernel over views gives the bits of the host for every 16-bit pattern that is no NaN", T, float16, bfloat16) {
  NEEDS_DEVICE;
  std::vector<T> values = all_patterns<T>();
  for (T& x : values) {
    if (is_nan(x)) x = T{};
  }
  std::vector<T> expected(values.size());
  const auto in = argument_view<Policy, op::exp>(values);
  const auto out = result_view<Policy, op::exp, T>(expected);
  for (std::size_t i = 0; i < in.size(); ++i) square_element(in, out, i);

  const thrust::device_vector<T> x(values.begin(), values.end());
  thrust::device_vector<T> y(values.size());
  square_kernel<<<256, 256>>>(argument_view<Policy, op::exp>(x), result_view<Policy, op::exp, T>(y));
  REQUIRE(ran());
  CHECK(same_bits(to_host(y), expected));
}
TEST_CASE("a kernel reads float data in the policy's low type for an op in low precision") {
  NEEDS_DEVICE;
  const std::vector<float> values{1.f + 0x1p-11f + 0x1p-20f, 65520.f, 1e-8f};
  const thrust::device_vector<float> x(values.begin(), values.end());
  thrust::device_vector<float> y(values.size());
  const auto in = argument_view<Policy, op::matmul>(x);
  static_assert(std::is_same_v<decltype(in)::value_type, float16>);
  thrust::copy(thrust::device, in.begin(), in.end(), result_view<Policy, op::matmul, float>(y).begin());
  const std::vector<float> got = to_host(y);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(got[i] == convert<float>(convert<float16>(values[i])));
}
TEST_CASE("Thrust algorithms read and write through the views") {
  NEEDS_DEVICE;
  std::vector<float16> values;
  for (int k = 0; k < 1000; ++k) values.push_back(convert<float16>(static_cast<float>(k % 8)));
  const thrust::device_vector<float16> x(values.begin(), values.end());
  thrust::device_vector<float16> y(values.size());
  const auto in = argument_view<Policy, op::exp>(x);
  const auto out = result_view<Policy, op::exp, float16>(y);
  CHECK(thrust::reduce(thrust::device, in.begin(), in.end(), 0.f) == 3500.f);  // integers: exact in any order
  thrust::transform(thrust::device, in.begin(), in.end(), out.begin(), Square());
  const std::vector<float16> got = to_host(y);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(convert<float>(got[i]) == static_cast<float>((i % 8) * (i % 8)));
}

namespace {

template <class In>
__global__ void row_sums(In in, float* sums) {
  const int row = static_cast<int>(threadIdx.x);
  if (row >= in.extent(0)) return;
  float sum = 0.f;
  for (int column = 0; column < in.extent(1); ++column) sum += in(row, column);
  sums[row] = sum;
}

}  // namespace

TEST_CASE("a kernel over an mdspan view converts as it loads") {
  NEEDS_DEVICE;
  std::vector<float16> values;
  for (int k = 0; k < 6; ++k) values.push_back(convert<float16>(static_cast<float>(k)));
  const thrust::device_vector<float16> x(values.begin(), values.end());
  thrust::device_vector<float> sums(2);
  const ::cuda::std::mdspan<const float16, ::cuda::std::dextents<int, 2>> matrix(x.data().get(), 2, 3);
  row_sums<<<1, 32>>>(argument_view<Policy, op::layer_norm>(matrix), sums.data().get());
  REQUIRE(ran());
  CHECK(to_host(sums) == std::vector<float>{3.f, 12.f});
}

namespace {

template <class In>
__global__ void widen_kernel(In in, float* out) {
  const std::size_t i = threadIdx.x;
  if (i < in.size()) out[i] = convert<float>(in[i]);
}

}  // namespace

TEST_CASE("a kernel reads data scaled, saturated and rounded to 8 bits") {
  NEEDS_DEVICE;
  const std::vector<float> values{1.f, 17.f + 0x1p-8f, 1e9f, -1e9f};
  const thrust::device_vector<float> x(values.begin(), values.end());
  thrust::device_vector<float> y(values.size());
  widen_kernel<<<1, 32>>>(argument_view<Autocast<float8_e4m3>, op::matmul>(with_scale(x, 0x1p-4f)), y.data().get());
  REQUIRE(ran());
  CHECK(to_host(y) == std::vector<float>{0x1p-4f, 1.125f, 448.f, -448.f});
}

namespace {

struct scaled_square {
  using cast_inputs = float;
  template <class P>
  MEZZO_HOST_DEVICE static auto forward(Context<P>, float x) {
    return saved(x * x, x);
  }
  template <class P>
  MEZZO_HOST_DEVICE static float backward(const Context<P, float>& context, float dy) {
    const auto& [x] = context;
    return 2.f * x * dy;
  }
};

__global__ void custom_kernel(const float16* x, float* y, float* dx) {
  const auto [out, context] = custom_fwd<Policy, scaled_square>(x[threadIdx.x]);
  y[threadIdx.x] = out;
  dx[threadIdx.x] = custom_bwd<scaled_square>(context, 1.f);
}

}  // namespace

TEST_CASE("a custom op runs forward and backward in device code") {
  NEEDS_DEVICE;
  const std::vector<float16> values{convert<float16>(3.f), convert<float16>(-1.5f)};
  const thrust::device_vector<float16> x(values.begin(), values.end());
  thrust::device_vector<float> y(2), dx(2);
  custom_kernel<<<1, 2>>>(x.data().get(), y.data().get(), dx.data().get());
  REQUIRE(ran());
  CHECK(to_host(y) == std::vector<float>{9.f, 2.25f});
  CHECK(to_host(dx) == std::vector<float>{6.f, -3.f});
}
