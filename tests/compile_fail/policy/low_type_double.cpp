// error: Autocast<double>: double is no low type: autocast never casts to or from double.
#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
Autocast<float> baseline;
#else
Autocast<double> baseline;
#endif
