#include <mezzo/core/span.hpp>

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

namespace {

using mezzo::as_span;
using mezzo::ContiguousRange;

/// As Thrust has it: data() is no plain pointer.
struct FancyPointer {
  float* pointer;
  float* get() const { return pointer; }
};
struct FancyVector {
  std::vector<float> values;
  FancyPointer data() { return {values.data()}; }
  std::size_t size() const { return values.size(); }
};
/// A pointer that only std::to_address understands.
struct IteratorLike {
  using element_type = float;
  float* pointer;
  float* operator->() const { return pointer; }
};
struct IteratorVector {
  std::vector<float> values;
  IteratorLike data() { return {values.data()}; }
  int size() const { return static_cast<int>(values.size()); }  // signed, as some libraries have it
};
struct NoSize {
  float* data();
};

TEST_CASE("any_contiguous_range_becomes_a_span_of_its_elements") {
  std::vector<float> vector{1.f, 2.f, 3.f};
  std::array<double, 2> array{1., 2.};
  FancyVector fancy{{4.f, 5.f}};
  IteratorVector iterator{{6.f}};
  CHECK(as_span(vector).data() == vector.data());
  CHECK(as_span(vector).size() == 3);
  CHECK(as_span(array).data() == array.data());
  CHECK(as_span(std::span(vector).subspan(1)).data() == vector.data() + 1);
  CHECK(as_span(mezzo::Span<float>(vector.data(), 2)).size() == 2);
  CHECK(as_span(fancy).data() == fancy.values.data());
  CHECK(as_span(fancy).size() == 2);
  CHECK(as_span(iterator).data() == iterator.values.data());
  CHECK(as_span(iterator).size() == 1);
}

TEST_CASE("a_span_is_const_where_the_elements_are") {
  const std::vector<float> vector{1.f};
  std::vector<float> writable{1.f};
  static_assert(std::is_same_v<decltype(as_span(vector)), mezzo::Span<const float>>);
  static_assert(std::is_same_v<decltype(as_span(writable)), mezzo::Span<float>>);
  static_assert(std::is_same_v<decltype(as_span(std::span<const float>(vector))), mezzo::Span<const float>>);
  CHECK(as_span(vector).front() == 1.f);
}

TEST_CASE("an_empty_range_is_an_empty_span") {
  std::vector<float> vector;
  CHECK(as_span(vector).empty());
  CHECK(as_span(std::span<float>()).data() == nullptr);
}

static_assert(ContiguousRange<std::vector<float>> && ContiguousRange<const std::vector<float>> && ContiguousRange<FancyVector>);
static_assert(!ContiguousRange<float*> && !ContiguousRange<int> && !ContiguousRange<NoSize>);

constexpr std::array<int, 3> constants{1, 2, 3};
static_assert(as_span(constants)[2] == 3, "spans are usable in constant expressions");

}  // namespace
