// Views that convert as they load and store, on the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include "types.hpp"

#include <mezzo/core/span.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>

using namespace mezzo;
using namespace mezzo::test;

namespace {

using Policy = Autocast<float16>;

std::vector<float16> halves(std::initializer_list<float> values) {
  std::vector<float16> result;
  for (const float x : values) result.push_back(convert<float16>(x));
  return result;
}

}  // namespace

TEST_CASE("over const data an element reads as the view's type") {
  const std::vector<float16> data = halves({1.f, 2.5f, -3.f});
  const auto view = convert_view<float>(data);
  static_assert(same<decltype(view[0]), float> && same<decltype(view)::value_type, float>);
  CHECK(view.size() == 3);
  CHECK(view[1] == 2.5f);
}
TEST_CASE("reading gives the same value as convert for every bit pattern") {
  std::vector<float16> data(65536);
  for (unsigned k = 0; k < 65536; ++k) data[k] = from_bits<float16>(static_cast<std::uint16_t>(k));
  const auto view = convert_view<float>(std::span<const float16>(data));
  for (std::size_t k = 0; k < data.size(); ++k) {
    if (to_bits(view[k]) != to_bits(convert<float>(data[k]))) FAIL(k);
  }
}
TEST_CASE("over mutable data an element is written rounded once, and read back") {
  std::vector<float16> data = halves({0.f, 0.f});
  auto view = convert_view<float>(data);
  view[0] = 1.f + 0x1p-11f + 0x1p-20f;
  CHECK(convert<float>(data[0]) == 1.f + 0x1p-10f);
  view[1] = view[0];
  CHECK(convert<float>(data[1]) == 1.f + 0x1p-10f);
  view[1] += 1.f;
  view[1] *= 2.f;
  CHECK(view[1] == 4.f);  // 2 + 2^-10 was a tie and went to 2
}
TEST_CASE("where both types agree an element is the data's own") {
  std::vector<float> data{1.f, 2.f};
  auto view = convert_view<float>(data);
  static_assert(same<decltype(view[0]), float&>);
  CHECK(&view[1] == &data[1]);
  static_assert(same<decltype(convert_view<float>(std::as_const(data))[0]), const float&>);
}
TEST_CASE("spans, arrays, std and cuda spans, and a pointer with a size are seen alike") {
  std::array<bfloat16, 2> data{convert<bfloat16>(1.f), convert<bfloat16>(2.f)};
  CHECK(convert_view<float>(data)[1] == 2.f);
  CHECK(convert_view<float>(std::span(data))[1] == 2.f);
  CHECK(convert_view<float>(Span<const bfloat16>(data.data(), 2))[1] == 2.f);
  CHECK(convert_view<float>(data.data(), 2)[1] == 2.f);
  static_assert(same<decltype(convert_view<float>(static_cast<const bfloat16*>(nullptr), 2)[0]), float>);
}
TEST_CASE("a pointer with a size and an array are data for every kind of view") {
  float16 data[3] = {convert<float16>(1.f), convert<float16>(2.f), convert<float16>(3.f)};
  const auto& fixed = data;
  static_assert(same<decltype(convert_view<float>(data)), ConvertingView<float, float16>>);
  static_assert(same<decltype(convert_view<float>(fixed)), ConvertingView<float, const float16>>);
  CHECK(convert_view<float>(fixed).size() == 3);

  const auto from_array = argument_view<Policy, full>(data);
  const auto from_pointer = argument_view<Policy, full>(&data[0], 2);
  static_assert(same<decltype(from_array), const ConvertingView<float, const float16>> && same<decltype(from_pointer), decltype(from_array)>);
  static_assert(same<decltype(argument_view<Policy, promote, float>(&data[0], 2))::value_type, float>);
  CHECK(from_array.size() == 3);
  CHECK(from_pointer.size() == 2);
  CHECK(from_pointer[1] == 2.f);

  result_view<Policy, full, float16>(data)[0] = 5.f;
  result_view<Policy, full, float16>(&data[1], 2)[1] = 7.f;
  CHECK(convert<float>(data[0]) == 5.f);
  CHECK(convert<float>(data[2]) == 7.f);
  CHECK(argument_view<Autocast<float8_e4m3>, op::matmul>(with_scale(data, 2.f)).size() == 3);
}
TEST_CASE("an empty view and an empty vector have no elements") {
  const ConvertingView<float, const float16> none;
  CHECK(none.empty());
  CHECK(none.begin() == none.end());
  CHECK(convert_view<float>(std::vector<float16>()).size() == 0);
}
TEST_CASE("a subview starts at its offset") {
  const std::vector<float16> data = halves({1.f, 2.f, 3.f, 4.f});
  const auto middle = convert_view<float>(data).subview(1, 2);
  CHECK(middle.size() == 2);
  CHECK(middle[0] == 2.f);
  CHECK(middle[1] == 3.f);
}
TEST_CASE("a view is no contiguous range: nobody takes it for a span of the stored type") {
  static_assert(!ContiguousRange<ConvertingView<float, const float16>>);
  static_assert(std::is_trivially_copyable_v<ConvertingView<float, const float16>>);
  static_assert(sizeof(ConvertingView<float, const float16>) == 2 * sizeof(void*));
}

TEST_CASE("standard algorithms run on the iterators, and read and write") {
  std::vector<float16> data = halves({3.f, 1.f, 2.f});
  const auto view = convert_view<float>(data);
  CHECK(std::accumulate(view.begin(), view.end(), 0.f) == 6.f);
  std::transform(view.begin(), view.end(), view.begin(), [](float x) { return 2.f * x; });
  CHECK(convert<float>(data[0]) == 6.f);
  CHECK(*std::max_element(view.begin(), view.end()) == 6.f);
  CHECK(std::find(view.begin(), view.end(), 4.f) - view.begin() == 2);
}
TEST_CASE("the iterator moves like a pointer") {
  using Reading = decltype(convert_view<float>(std::declval<const std::vector<float16>&>()))::iterator;
  using Writing = decltype(convert_view<float>(std::declval<std::vector<float16>&>()))::iterator;
  static_assert(same<Reading::iterator_category, std::random_access_iterator_tag> && std::random_access_iterator<Reading>);
  static_assert(same<Writing::iterator_category, std::random_access_iterator_tag> && std::random_access_iterator<Writing>);
  const std::vector<float16> data = halves({0.f, 1.f, 2.f, 3.f, 4.f});
  const auto view = convert_view<float>(data);
  auto it = view.begin();
  CHECK(*it++ == 0.f);
  CHECK(*it == 1.f);
  CHECK(*++it == 2.f);
  CHECK(*it-- == 2.f);
  CHECK(*--it == 0.f);
  CHECK(*(it + 3) == 3.f);
  CHECK(*(2 + it) == 2.f);
  it += 4;
  it -= 1;
  CHECK(*(it - 1) == 2.f);
  CHECK(it[1] == 4.f);
  CHECK(view.end() - it == 2);
  CHECK((it > view.begin() && it >= view.begin() && view.begin() < it && view.begin() <= it && it != view.begin()));
}

TEST_CASE("an argument view has the type that the op reads under the policy") {
  const std::vector<float16> half_data = halves({2.f});
  const std::vector<float> float_data{2.f};
  static_assert(same<decltype(argument_view<Policy, full>(half_data))::value_type, float>);
  static_assert(same<decltype(argument_view<Policy, lower>(float_data))::value_type, float16>);
  static_assert(same<decltype(argument_view<Policy, output>(half_data))::value_type, float16>);
  static_assert(same<decltype(argument_view<Policy, promote>(half_data))::value_type, float16>);
  static_assert(same<decltype(argument_view<Policy, promote, float>(half_data))::value_type, float>);  // beside a float argument
  static_assert(same<decltype(argument_view<Policy::disabled, full>(half_data))::value_type, float16>);
  static_assert(same<decltype(argument_view<Policy, full>(std::vector<double>(1)))::value_type, double>);
  CHECK(argument_view<Policy, full>(half_data)[0] == 2.f);
}
TEST_CASE("an argument view is read-only even over mutable data") {
  std::vector<float16> data = halves({2.f});
  static_assert(same<decltype(argument_view<Policy, full>(data)[0]), float>);
  static_assert(same<decltype(argument_view<Policy, lower>(data)[0]), const float16&>);
}
TEST_CASE("a result view stores the op's result type into whatever the range holds") {
  std::vector<float16> out(2);
  auto y = result_view<Policy, full, float16>(out);
  static_assert(same<decltype(y)::value_type, float>);
  y[1] = 65519.f;  // rounds to the largest float16
  CHECK(to_bits(out[1]) == element_traits<float16>::max_bits);
  std::vector<float> wide(1);
  result_view<Policy, lower, float>(wide)[0] = convert<float16>(3.f);
  CHECK(wide[0] == 3.f);
}
TEST_CASE("autocast takes a view for the type that it shows") {
  const std::vector<float16> data = halves({1.f, 2.f});
  const float sum = autocast<Policy, full>([](auto view) { return view[0] + view[1]; }, argument_view<Policy, full>(data));
  CHECK(sum == 3.f);
  static_assert(same<compute_type_t<Policy, promote, ConvertingView<float, const float16>, float16>, float>);
}
TEST_CASE("an element of a mutable view is converted like a value") {
  std::vector<float> data{2.f};
  const auto view = convert_view<float16>(data);
  CHECK(autocast<Policy, full>([](auto x) { static_assert(same<decltype(x), float>); return x; }, view[0]) == 2.f);
}

TEST_CASE("with a scale, elements are multiplied, saturated and rounded once to the 8-bit type") {
  const std::vector<float> data{1.f, 17.f + 0x1p-8f, 1e9f, -1e9f};
  const auto view = argument_view<Autocast<float8_e4m3>, op::matmul>(with_scale(data, 0x1p-4f));
  static_assert(same<decltype(view[0]), float8_e4m3>);
  CHECK(convert<float>(view[0]) == 0x1p-4f);
  CHECK(convert<float>(view[1]) == 1.125f);  // above the tie 1.0625
  CHECK(convert<float>(view[2]) == 448.f);
  CHECK(convert<float>(view[3]) == -448.f);
}
TEST_CASE("an element-wise function under a policy reads float16 and computes in float without another pass") {
  const std::vector<float16> x = halves({0.1f, 0.2f, 0.3f});
  std::vector<float16> y(3);
  const auto in = argument_view<Policy, op::exp>(x);
  const auto out = result_view<Policy, op::exp, float16>(y);
  for (std::size_t k = 0; k < in.size(); ++k) out[k] = in[k] * in[k];
  for (std::size_t k = 0; k < y.size(); ++k) {
    const float wide = convert<float>(x[k]);
    CHECK(to_bits(y[k]) == to_bits(convert<float16>(wide * wide)));
  }
}
