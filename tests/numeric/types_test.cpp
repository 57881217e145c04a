#include <mezzo/numeric/types.hpp>

#include <type_traits>

#include <doctest/doctest.h>

namespace {

// The toolkit's types themselves, so that spans of a user's __half need no cast.
static_assert(std::is_same_v<mezzo::float16, __half> && std::is_same_v<mezzo::bfloat16, __nv_bfloat16>);
static_assert(std::is_same_v<mezzo::float8_e4m3, __nv_fp8_e4m3> && std::is_same_v<mezzo::float8_e5m2, __nv_fp8_e5m2>);

TEST_CASE("element_types_have_the_sizes_that_files_and_kernels_rely_on") {
  CHECK(sizeof(mezzo::float16) == 2);
  CHECK(sizeof(mezzo::bfloat16) == 2);
  CHECK(sizeof(mezzo::float8_e4m3) == 1);
  CHECK(sizeof(mezzo::float8_e5m2) == 1);
  CHECK(std::is_trivially_copyable_v<mezzo::float16>);
  CHECK(std::is_trivially_copyable_v<mezzo::float8_e4m3>);
  CHECK(sizeof(mezzo::ElementType) == 1);
}

}  // namespace
