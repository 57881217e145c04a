// Scratch cut into pieces: aligned, inside, and never over each other.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <mezzo/ops/cuda/detail/scratch.hpp>

using mezzo::detail::device::Scratch;

TEST_CASE("pieces_and_the_rest_are_aligned_inside_and_apart_whatever_the_sizes") {
  std::vector<std::byte> memory(8192);
  for (const std::size_t offset : {0, 1, 64, 192, 255}) {
    for (const std::size_t available : {0, 1, 255, 256, 257, 511, 512, 1000, 1072, 4096, 7000}) {
      for (const std::size_t wanted : {0, 1, 255, 256, 257, 500, 536, 2048}) {
        CAPTURE(offset);
        CAPTURE(available);
        CAPTURE(wanted);
        const std::byte* const end = memory.data() + offset + available;
        Scratch rest(memory.data() + offset, available);
        const Scratch whole = rest;
        const Scratch piece = rest.take(wanted);
        for (const Scratch& each : {whole, piece, rest}) {
          if (each.bytes == 0) continue;
          CHECK(reinterpret_cast<std::uintptr_t>(each.memory) % Scratch::alignment == 0);
          CHECK(each.memory >= memory.data() + offset);
          CHECK(each.memory + each.bytes <= end);
        }
        if (piece.memory == nullptr) {  // nothing was taken
          CHECK((wanted == 0 || wanted > whole.bytes));
          CHECK(rest.memory == whole.memory);
          CHECK(rest.bytes == whole.bytes);
        } else {
          CHECK(piece.bytes == wanted);
          CHECK(piece.memory + piece.bytes <= rest.memory);
        }
      }
    }
  }
}

TEST_CASE("halves_do_not_overlap_where_half_is_not_aligned") {
  alignas(256) static std::byte memory[1072512 / 8];
  Scratch second(memory, sizeof(memory));
  const Scratch first = second.take(second.bytes / 2);  // 67,032 bytes: 261.8 x 256
  CHECK(first.bytes == sizeof(memory) / 2);
  CHECK(first.memory + first.bytes <= second.memory);
  CHECK(reinterpret_cast<std::uintptr_t>(second.memory) % Scratch::alignment == 0);
  CHECK(second.memory + second.bytes == memory + sizeof(memory));
}
