// error: result_view: the range has const elements; a result is written to it.
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
auto f(std::span<float16> y) { return result_view<Policy, op::exp, float16>(y); }
#else
auto f(std::span<const float16> y) { return result_view<Policy, op::exp, float16>(y); }
#endif
