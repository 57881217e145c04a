// The control of the NVRTC test: the report of a policy needs the standard library.
#include <mezzo/policy/cast_report.hpp>

extern "C" __global__ void kernel() {}
