// compile-options: -mfma -ffp-contract=fast -O3
// cuda-options: --use_fast_math -Xcompiler=-mfma,-ffp-contract=fast
#include "numeric/arithmetic_cases.hpp"
#include "support/executors.hpp"

namespace {

// The flags must do what the other cases are there to withstand, or they prove nothing.
TEST_CASE("this_build_does_fuse_plain_products_and_sums") {
  volatile float source = 1.f + 0x1p-12f;
  const float x = source;
  const float c = -(1.f + 0x1p-11f);
  CHECK(x * x + c == 0x1p-24f);
}

}  // namespace
