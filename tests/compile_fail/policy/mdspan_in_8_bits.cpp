// error: argument_view: nothing is cast to an 8-bit type without a scale, and an mdspan view has none.
#include <mezzo/policy/mdspan_view.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
template <class T>
using Matrix = ::cuda::std::mdspan<T, ::cuda::std::dextents<int, 2>>;
#ifdef CONTROL
auto f(Matrix<const float8_e4m3> x) { return argument_view<Autocast<float8_e4m3>, op::matmul>(x); }
#else
auto f(Matrix<const float> x) { return argument_view<Autocast<float8_e4m3>, op::matmul>(x); }
#endif
