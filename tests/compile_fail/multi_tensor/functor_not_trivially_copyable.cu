// error: a functor is copied to the device byte by byte and must be trivially copyable
#include <mezzo/multi_tensor/cuda_runner.cuh>
struct AddOne {
  using kinds = mezzo::multi_tensor::Kinds<mezzo::multi_tensor::Columns<mezzo::multi_tensor::InOut<float>>>;
  AddOne() = default;
#ifdef CONTROL
  AddOne(const AddOne&) = default;
#else
  AddOne(const AddOne&) {}
#endif
  MEZZO_HOST_DEVICE bool enabled() const { return true; }
  MEZZO_HOST_DEVICE int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class Kind>
  MEZZO_HOST_DEVICE void operator()(Kind, int, float& value) const {
    value += 1.f;
  }
  MEZZO_HOST_DEVICE void finish() const {}
};
void queue(const mezzo::CudaExecutor& executor, const mezzo::multi_tensor::TableView<1>& table) {
  mezzo::multi_tensor::for_each_element(executor, table, AddOne{});
}
