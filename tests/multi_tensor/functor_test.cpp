#include <mezzo/multi_tensor/functor.hpp>

#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace mezzo::multi_tensor;
using mezzo::from_bits;
using mezzo::to_bits;

TEST_CASE("an_element_is_widened_handed_over_and_rounded_once_as_it_is_stored") {
  std::vector<mezzo::float16> in{from_bits<mezzo::float16>(0x3c00), from_bits<mezzo::float16>(0x4000)};
  std::vector<mezzo::bfloat16> out(2, from_bits<mezzo::bfloat16>(0x4242));
  std::vector<float> both{5.f, 7.f};
  void* const columns[] = {in.data(), out.data(), both.data()};
  using Kind = Columns<In<mezzo::float16>, Out<mezzo::bfloat16>, InOut<float>>;
  detail::element(Kind{}, std::make_index_sequence<Kind::count>{}, columns, 1, [](float& a, float& b, float& c) {
    CHECK(a == 2.f);
    CHECK(b == 0.f);  // a column that is only written does not hand its old value over
    CHECK(c == 7.f);
    b = 1.f + 0x1p-8f + 0x1p-20f;  // above the tie
    c += a;
    a = 99.f;  // a column that is only read keeps its value
  });
  CHECK(to_bits(in[0]) == 0x3c00);
  CHECK(to_bits(in[1]) == 0x4000);
  CHECK(to_bits(out[0]) == 0x4242);
  CHECK(to_bits(out[1]) == 0x3f81);
  CHECK(both == std::vector<float>{5.f, 9.f});
}

TEST_CASE("a_double_column_makes_the_computation_double") {
  std::vector<double> wide{1e300};
  std::vector<float> narrow{3.f};
  void* const columns[] = {wide.data(), narrow.data()};
  using Kind = Columns<InOut<double>, In<float>>;
  detail::element(Kind{}, std::make_index_sequence<Kind::count>{}, columns, 0, [](double& a, double& b) { a /= b; });
  CHECK(wide[0] == 1e300 / 3.);
}

TEST_CASE("a_partial_starts_empty_and_finite") {
  const Partial partial;
  CHECK(partial.sum == 0);
  CHECK_FALSE(partial.nonfinite);
}

}  // namespace
