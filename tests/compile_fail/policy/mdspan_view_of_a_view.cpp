// error: a view of an mdspan needs one with the default accessor
#include <mezzo/policy/mdspan_view.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
using Matrix = cuda::std::mdspan<float16, cuda::std::extents<int, 2, 2>>;
auto f(Matrix data) {
  const auto view = convert_view<float>(data);
#ifdef CONTROL
  return argument_view<Policy, op::exp>(Matrix(view.data_handle()));
#else
  return argument_view<Policy, op::exp>(view);
#endif
}
