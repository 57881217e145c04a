// error: autocast: the elements of this span or pointer have another type
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
using T = float16;
#else
using T = float;
#endif
void batched(const T* const* matrices);
void f(const T* const* matrices) { autocast<Policy, op::bmm>(batched, matrices); }
