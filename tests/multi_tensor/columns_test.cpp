#include <mezzo/multi_tensor/columns.hpp>

#include <string>
#include <type_traits>

#include <doctest/doctest.h>

namespace {

using namespace mezzo::multi_tensor;

static_assert(In<float>::reads && !In<float>::writes);
static_assert(!Out<float>::reads && Out<float>::writes);
static_assert(InOut<float>::reads && InOut<float>::writes);

// Computation is in float, and in double as soon as one column is.
static_assert(std::is_same_v<Columns<In<mezzo::float16>, Out<mezzo::bfloat16>>::real, float>);
static_assert(std::is_same_v<Columns<In<mezzo::float16>, InOut<double>>::real, double>);
static_assert(Columns<In<float>, In<float>, Out<float>>::count == 3 && Kinds<Columns<In<float>>, Columns<Out<float>>>::count == 2);

TEST_CASE("a_row_meets_the_kind_that_its_index_names_and_no_other") {
  using A = Columns<In<float>>;
  using B = Columns<In<mezzo::float16>>;
  using C = Columns<In<double>>;
  const auto visited = [](std::uint32_t index) {
    std::string names;
    detail::visit_kind(Kinds<A, B, C>{}, index, [&names]<class Kind>(Kind) {
      names += std::is_same_v<Kind, A> ? 'A' : std::is_same_v<Kind, B> ? 'B' : 'C';
    });
    return names;
  };
  CHECK(visited(0) == "A");
  CHECK(visited(1) == "B");
  CHECK(visited(2) == "C");
  CHECK(visited(3).empty());
}

}  // namespace
