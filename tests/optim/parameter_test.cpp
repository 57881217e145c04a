#include <mezzo/optim/parameter.hpp>

#include <array>
#include <span>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace mezzo;
using Parameter = BasicParameter<float16>;

TEST_CASE("a_parameter_is_made_from_any_contiguous_range_of_the_low_type_or_float") {
  std::vector<float16> vector(3);
  std::array<float, 3> array{};
  float16 plain[3] = {};
  const Parameter a{vector, array};
  CHECK(a.model.data() == vector.data());
  CHECK(a.model.type() == ElementType::f16);
  CHECK(a.gradient.data() == array.data());
  CHECK(a.gradient.type() == ElementType::f32);
  CHECK(a.gradient.size() == 3);
  const Parameter b{.model = plain, .gradient = std::span<float16>(vector), .name = "b"};
  CHECK(b.model.size() == 3);
  CHECK(b.name == "b");
  CHECK(b.group == 0);
  CHECK(b.master.size() == 0);
}

TEST_CASE("a_pointer_and_a_size_of_any_integer_type_make_a_parameter") {
  std::vector<float16> weights(3);
  float gradients[3] = {};
  const Parameter a{{weights.data(), 3}, {gradients, std::size_t{3}}};
  CHECK(a.model.data() == weights.data());
  CHECK(a.model.size() == 3);
  CHECK(a.gradient.type() == ElementType::f32);
  CHECK(a.gradient.size() == 3);
}

TEST_CASE("a_temporary_span_is_as_good_as_a_named_one") {
  std::vector<float16> weights(3);
  const Parameter a{Span<float16>(weights.data(), 3), std::span<float16>(weights)};
  CHECK(a.model.size() == 3);
  CHECK(a.gradient.data() == weights.data());
}

TEST_CASE("elements_come_back_as_their_own_type_only") {
  std::vector<float16> low(2);
  const ParameterSpan<float16> span(low);
  CHECK(span.as<float16>().size() == 2);
  CHECK(span.as<float>().empty());
}

}  // namespace
