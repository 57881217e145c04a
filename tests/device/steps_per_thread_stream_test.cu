// The same where a null stream is each thread's own.
// cuda-options: --default-stream=per-thread
#include "device/steps_test.cu"
