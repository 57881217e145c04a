// The same with the device's fast mathematics, which flush subnormals and approximate quotients where they are let.
// cuda-options: --use_fast_math
#include "device/conversions_test.cu"
