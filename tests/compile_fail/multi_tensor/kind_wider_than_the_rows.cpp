// error: multi_tensor: a kind has more columns than the rows of the table.
#include <mezzo/multi_tensor/host_runner.hpp>
using namespace mezzo;
using namespace mezzo::multi_tensor;
template <class Kind>
struct Functor {
  using kinds = Kinds<Kind>;
  bool enabled() const { return true; }
  int scalars(std::uint32_t, std::uint32_t) const { return 0; }
  template <class... Real>
  void operator()(Kind, int, Real&...) const {}
  void finish() const {}
};
#ifdef CONTROL
void run(const TableView<2>& table) { for_each_element(HostExecutor{}, table, Functor<Columns<In<float>, Out<float>>>{}); }
#else
void run(const TableView<2>& table) { for_each_element(HostExecutor{}, table, Functor<Columns<In<float>, In<float>, Out<float>>>{}); }
#endif
