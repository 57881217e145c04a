#include <mezzo/core/type_traits.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

namespace {

namespace stdlib = mezzo::stdlib;

// On the host the names are the standard's own types, so that they mix with the user's.
static_assert(std::is_same_v<stdlib::uint32_t, std::uint32_t> && std::is_same_v<stdlib::size_t, std::size_t>);
static_assert(std::is_same_v<stdlib::index_sequence<0, 1>, std::index_sequence<0, 1>>);
static_assert(std::is_same_v<stdlib::conditional_t<true, int, float>, int>);
static_assert(stdlib::is_same_v<stdlib::type_identity<int>::type, int>);

template <stdlib::size_t... I>
constexpr stdlib::size_t sum(stdlib::index_sequence<I...>) {
  return (I + ... + 0);
}

TEST_CASE("the_names_that_headers_use_are_there") { CHECK(sum(stdlib::make_index_sequence<5>{}) == 10); }

}  // namespace
