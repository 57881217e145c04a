// error: run_once: the functor is copied to the device byte by byte and must be trivially copyable
#include <mezzo/executor/cuda.cuh>
struct Store {
#ifdef CONTROL
  Store(const Store&) = default;
#else
  Store(const Store& other) : to(other.to) {}
#endif
  explicit Store(int* pointer) : to(pointer) {}
  int* to;
  MEZZO_HOST_DEVICE void operator()() const { *to = 1; }
};
void queue(const mezzo::CudaExecutor& executor, int* to) { mezzo::run_once(executor, Store{to}); }
