// error: argument_type_t: the argument asked about must hold elements of exactly one type.
#include <tuple>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
argument_type_t<Policy, op::exp, std::tuple<float16>> x;
#else
argument_type_t<Policy, op::exp, std::tuple<float16, float>> x;
#endif
