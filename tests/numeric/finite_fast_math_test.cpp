// compile-options: -Ofast -ffast-math -ffinite-math-only
// cuda-options: --use_fast_math -Xcompiler=-Ofast
#include "numeric/finite_cases.hpp"
#include "support/executors.hpp"

#ifdef __SSE__
#include <xmmintrin.h>

namespace {

/// What linking with -Ofast does to a whole program: subnormals are flushed and read as zero.
class FlushToZero {
 public:
  FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040U); }
  ~FlushToZero() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

TEST_CASE("finiteness_is_right_where_subnormals_are_flushed") {
  const FlushToZero scope;
  const mezzo::HostExecutor executor;
  finite_cases::check<float>(executor, reference::f32, finite_cases::telling(reference::f32));
  finite_cases::check<mezzo::float16>(executor, reference::f16, finite_cases::all(reference::f16));
  CHECK(finite_cases::step_is_skipped(executor, mezzo::from_bits<float>(0x7f800000)));
}

}  // namespace
#endif
