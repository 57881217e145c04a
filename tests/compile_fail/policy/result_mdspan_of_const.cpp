// error: result_view: the mdspan has const elements; a result is written to it.
#include <mezzo/policy/mdspan_view.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
template <class T>
using Matrix = ::cuda::std::mdspan<T, ::cuda::std::dextents<int, 2>>;
#ifdef CONTROL
auto f(Matrix<float16> y) { return result_view<Policy, op::exp, float16>(y); }
#else
auto f(Matrix<const float16> y) { return result_view<Policy, op::exp, float16>(y); }
#endif
