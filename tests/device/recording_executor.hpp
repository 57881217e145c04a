#pragma once
// A host executor that can record what is queued and do it again: what a CUDA graph is, without a GPU.
//
// A recorded functor holds values, not references, as a kernel's arguments do: whatever the host decided while it
// queued is frozen in it. So a replay that equals the eager run shows that nothing is decided on the host.

#include <functional>
#include <vector>

#include <mezzo/mezzo.hpp>

namespace mezzo::test {

struct Recording {
  bool active = false;
  std::vector<std::function<void()>> work;
};

class RecordingExecutor {
 public:
  RecordingExecutor() = default;
  explicit RecordingExecutor(Recording& recording) : recording_(&recording) {}

  template <class Work>
  void queue(Work work) const {
    if (recording_->active) {
      recording_->work.emplace_back(std::move(work));
    } else {
      work();
    }
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::source_location where = std::source_location::current()) const {
    return HostExecutor{}.allocate(bytes, where);
  }
  void deallocate(void* pointer, std::size_t bytes) const noexcept { HostExecutor{}.deallocate(pointer, bytes); }
  void copy(void* to, const void* from, std::size_t bytes, std::source_location = {}) const {
    queue([=] { HostExecutor{}.copy(to, from, bytes); });
  }
  void fill(void* to, std::byte value, std::size_t bytes, std::source_location = {}) const {
    queue([=] { HostExecutor{}.fill(to, value, bytes); });
  }
  void wait(std::source_location where = std::source_location::current()) const {
    if (recording_->active) fail<StateError>(where, "RecordingExecutor", "a wait cannot be recorded");
  }
  [[nodiscard]] bool accessible(const void*) const { return true; }

 private:
  Recording* recording_ = nullptr;
};
static_assert(Executor<RecordingExecutor>);

template <class Functor>
void run_once(const RecordingExecutor& executor, const Functor& functor, std::source_location = {}) {
  executor.queue([=] { run_once(HostExecutor{}, functor); });
}
template <class Functor>
void for_each_index(const RecordingExecutor& executor, std::uint64_t count, const Functor& functor, std::source_location = {}) {
  executor.queue([=] { for_each_index(HostExecutor{}, count, functor); });
}
template <class Functor, int N>
void for_each_element(const RecordingExecutor& executor, const multi_tensor::TableView<N>& table, const Functor& functor,
                      std::source_location = {}) {
  executor.queue([=] { for_each_element(HostExecutor{}, table, functor); });
}
template <class Functor, int N>
void reduce_elements(const RecordingExecutor& executor, const multi_tensor::TableView<N>& table, const Functor& functor,
                     std::source_location = {}) {
  executor.queue([=] { reduce_elements(HostExecutor{}, table, functor); });
}

}  // namespace mezzo::test
