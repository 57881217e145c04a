#include <mezzo/executor/host.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

const mezzo::HostExecutor executor;

TEST_CASE("host_memory_is_aligned_to_64_bytes") {
  for (const std::size_t bytes : {1U, 63U, 64U, 65U, 100'000U}) {
    void* const memory = executor.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    executor.deallocate(memory, bytes);
  }
}

TEST_CASE("zero_bytes_are_a_null_pointer_that_may_be_given_back") {
  CHECK(executor.allocate(0) == nullptr);
  executor.deallocate(nullptr, 0);
}

TEST_CASE("sizes_near_the_end_of_the_range_are_refused_and_do_not_wrap_round") {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 1023, SIZE_MAX / 2 + 1}) {
    CHECK_THROWS_AS(static_cast<void>(executor.allocate(bytes)), mezzo::OutOfMemory);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators end the program instead
TEST_CASE("too_many_bytes_are_refused_with_the_users_line_and_the_number") {
  const int expected = __LINE__ + 2;
  try {
    static_cast<void>(executor.allocate(std::size_t{1} << 62));
    FAIL("an allocation of 2^62 bytes succeeded");
  } catch (const mezzo::OutOfMemory& error) {
    CHECK(std::string(error.what()) ==
          "host_test.cpp:" + std::to_string(expected) + ": HostExecutor: no memory left for 4611686018427387904 bytes");
  }
}
#endif

TEST_CASE("copy_moves_overlapping_bytes_and_fill_sets_them") {
  std::vector<unsigned char> bytes(10);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  executor.copy(bytes.data() + 2, bytes.data(), 5);
  CHECK(bytes == std::vector<unsigned char>{0, 1, 0, 1, 2, 3, 4, 7, 8, 9});
  executor.fill(bytes.data() + 8, std::byte{0xee}, 2);
  CHECK(bytes == std::vector<unsigned char>{0, 1, 0, 1, 2, 3, 4, 7, 0xee, 0xee});
  executor.copy(nullptr, nullptr, 0);
  executor.fill(nullptr, std::byte{1}, 0);
}

TEST_CASE("work_is_done_when_the_call_returns") {
  int runs = 0;
  mezzo::run_once(executor, [&runs] { ++runs; });
  CHECK(runs == 1);
  std::vector<int> visits(100);
  mezzo::for_each_index(executor, visits.size(), [&visits](std::uint64_t i) { ++visits[i]; });
  CHECK(visits == std::vector<int>(100, 1));
  mezzo::for_each_index(executor, 0, [](std::uint64_t) { FAIL("nothing to visit"); });
  executor.wait();
  CHECK(executor.accessible(&runs));
}

}  // namespace
