// error: cast_report<Policy, Ops>: Ops must be a list of op tags
#include <mezzo/policy/cast_report.hpp>
using namespace mezzo;
#ifdef CONTROL
auto report = cast_report<Autocast<float16>, OpList<op::softmax>>();
#else
auto report = cast_report<Autocast<float16>, op::softmax>();
#endif
