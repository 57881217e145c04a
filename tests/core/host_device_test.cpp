#include <mezzo/core/host_device.hpp>

#include <doctest/doctest.h>

namespace {

struct Caller {
  MEZZO_EXEC_CHECK_DISABLE
  template <class F>
  MEZZO_HOST_DEVICE constexpr int operator()(F f) const {
    return f() + 1;
  }
};

MEZZO_HOST_DEVICE constexpr int two() { return 2; }
int host_only() { return 40; }

static_assert(two() == 2, "an annotated function stays usable in constant expressions");

TEST_CASE("annotated_functions_run_on_the_host_and_call_what_is_host_only") {
  CHECK(two() == 2);
  CHECK(Caller{}(&host_only) == 41);
}

}  // namespace
