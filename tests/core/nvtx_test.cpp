#include <mezzo/core/nvtx.hpp>

#include <doctest/doctest.h>

#include <type_traits>

#if MEZZO_HAS_NVTX

TEST_CASE("a_range_ends_with_its_scope_and_ranges_nest") {
  // Push and pop return the level that they open and close, or a negative number where no profiler listens.
  const int before = nvtxRangePushA("before");
  const int closed = nvtxRangePop();
  {
    const mezzo::NvtxRange outer("outer");
    const mezzo::NvtxRange inner("inner");
    const int level = nvtxRangePushA("level");
    CHECK((level < 0 || level == before + 2));
    static_cast<void>(nvtxRangePop());
  }
  CHECK(nvtxRangePushA("after") == before);
  CHECK(nvtxRangePop() == closed);
}

#endif

TEST_CASE("a_range_is_not_copied_since_it_ends_once") {
  static_assert(!std::is_copy_constructible_v<mezzo::NvtxRange> && !std::is_copy_assignable_v<mezzo::NvtxRange>);
  static_assert(!std::is_move_constructible_v<mezzo::NvtxRange>);
  static_assert(!std::is_convertible_v<const char*, mezzo::NvtxRange>, "a string does not become a range by accident");
  static_assert(std::is_nothrow_constructible_v<mezzo::NvtxRange, const char*>);
}
