// error: The closure type for a lambda
#include <mezzo/executor/cuda.cuh>
struct Store {
  int* to;
  MEZZO_HOST_DEVICE void operator()() const { *to = 1; }
};
void queue(const mezzo::CudaExecutor& executor, int* to) {
#ifdef CONTROL
  mezzo::run_once(executor, Store{to});
#else
  mezzo::run_once(executor, [to] { *to = 1; });
#endif
}
