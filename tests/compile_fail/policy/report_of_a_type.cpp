// error: cast_report<Policy>: Policy must be a policy
#include <mezzo/policy/cast_report.hpp>
using namespace mezzo;
#ifdef CONTROL
auto report = cast_report<Autocast<float16>>();
#else
auto report = cast_report<float16>();
#endif
