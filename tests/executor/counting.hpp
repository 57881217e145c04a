// An executor that does the host's work and counts what it is asked for: launches, allocations, copies, waits.
#pragma once

#include <mezzo/executor/host.hpp>
#include <mezzo/multi_tensor/host_runner.hpp>

#include <cstring>
#include <limits>

namespace counting {

struct Ledger {
  int launches = 0;           ///< kernels: single calls, index loops, passes over a table
  int copies = 0, fills = 0, waits = 0;
  int allocations = 0, live = 0;
  std::size_t bytes = 0;      ///< allocated now
  int allocations_left = std::numeric_limits<int>::max();  ///< the one after these fails
  bool refuse = false;        ///< nothing is accessible

  [[nodiscard]] int work() const { return launches + copies + fills; }
};

struct Executor {
  Ledger* ledger = nullptr;

  void* allocate(std::size_t bytes, std::source_location where = std::source_location::current()) const {
    if (bytes == 0) return nullptr;
    if (ledger->allocations_left-- == 0) mezzo::fail<mezzo::OutOfMemory>(where, "Executor", "no memory left for ", bytes, " bytes");
    ++ledger->allocations;
    ++ledger->live;
    ledger->bytes += bytes;
    void* const memory = mezzo::HostExecutor{}.allocate(bytes, where);
    std::memset(memory, 0xff, bytes);  // what nobody initialises shows: NaN in floats, -1 in counters
    return memory;
  }
  void deallocate(void* pointer, std::size_t bytes) const noexcept {
    if (pointer == nullptr) return;
    --ledger->live;
    ledger->bytes -= bytes;
    mezzo::HostExecutor{}.deallocate(pointer, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes, std::source_location where = {}) const {
    ++ledger->copies;
    mezzo::HostExecutor{}.copy(to, from, bytes, where);
  }
  void fill(void* to, std::byte value, std::size_t bytes, std::source_location where = {}) const {
    ++ledger->fills;
    mezzo::HostExecutor{}.fill(to, value, bytes, where);
  }
  void wait(std::source_location = {}) const { ++ledger->waits; }
  [[nodiscard]] bool accessible(const void*) const { return !ledger->refuse; }
};
static_assert(mezzo::Executor<Executor>);

template <class Functor>
void run_once(const Executor& executor, const Functor& functor, std::source_location where = {}) {
  ++executor.ledger->launches;
  mezzo::run_once(mezzo::HostExecutor{}, functor, where);
}
template <class Functor>
void for_each_index(const Executor& executor, std::uint64_t count, const Functor& functor, std::source_location where = {}) {
  ++executor.ledger->launches;
  mezzo::for_each_index(mezzo::HostExecutor{}, count, functor, where);
}
template <class Functor, int N>
void for_each_element(const Executor& executor, const mezzo::multi_tensor::TableView<N>& table, const Functor& functor, std::source_location where = {}) {
  ++executor.ledger->launches;
  mezzo::multi_tensor::for_each_element(mezzo::HostExecutor{}, table, functor, where);
}
template <class Functor, int N>
void reduce_elements(const Executor& executor, const mezzo::multi_tensor::TableView<N>& table, const Functor& functor, std::source_location where = {}) {
  ++executor.ledger->launches;
  mezzo::multi_tensor::reduce_elements(mezzo::HostExecutor{}, table, functor, where);
}

}  // namespace counting
