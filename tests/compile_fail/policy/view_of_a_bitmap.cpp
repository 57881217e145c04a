// error: a view needs data in memory and its size
#include <vector>

#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
#ifdef CONTROL
std::vector<float16> mask(3);
#else
std::vector<bool> mask(3);
#endif
auto view = argument_view<Autocast<float16>, op::copy>(mask);
