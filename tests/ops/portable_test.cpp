// compile-options: -DMEZZO_HAS_AVX2=0
// The convolution's tests once more on the plain loops that other processors run.
#include "ops/conv2d_test.cpp"
