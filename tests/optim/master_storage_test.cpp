#include <mezzo/optim/master_storage.hpp>

#include "support/executors.hpp"

namespace master_storage_test {

using namespace mezzo;
static_assert(MasterStorage<Float32Master> && MasterStorage<NoMaster> && !MasterStorage<int>);

template <class Storage>
std::size_t bytes() {
  std::vector<float16> w(100000), g(100000);
  const MasterOptimizer<Sgd, float16, Storage> optimizer{HostExecutor{}, {{w, g}}};
  return optimizer.storage_bytes();
}

TEST_CASE("a_master_costs_four_bytes_a_parameter_and_no_master_none") {
  const std::size_t with = bytes<Float32Master>(), without = bytes<NoMaster>();
  CHECK(with - without >= 4 * 100000);
  CHECK(with - without <= 4 * 100000 + 4096);   // and the table of pairs that copies between the two
}

}  // namespace master_storage_test
