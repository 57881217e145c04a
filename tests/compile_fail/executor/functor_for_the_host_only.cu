// error: calling a __host__ function
#include <mezzo/executor/cuda.cuh>
struct Store {
  int* to;
#ifdef CONTROL
  MEZZO_HOST_DEVICE void operator()() const { *to = 1; }
#else
  void operator()() const { *to = 1; }
#endif
};
void queue(const mezzo::CudaExecutor& executor, int* to) { mezzo::run_once(executor, Store{to}); }
