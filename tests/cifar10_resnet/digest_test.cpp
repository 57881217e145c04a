#include "../../examples/cifar10_resnet/digest.hpp"

#include <doctest/doctest.h>

#include "temporary_folder.hpp"

using cifar10::DataError;
using cifar10::DataFault;
using cifar10::MappedFile;
namespace fs = std::filesystem;

namespace {

const fs::path data = fs::path(__FILE__).parent_path() / "../../examples/cifar10_resnet/data";

std::string refusal(const fs::path& path, DataFault fault) {
  try {
    cifar10::verify_digest(MappedFile(path));
  } catch (const DataError& error) {
    CHECK(error.fault() == fault);
    return error.what();
  }
  FAIL("not refused");
  return {};
}

}  // namespace

TEST_CASE("sha1_matches_the_published_example") {   // FIPS 180, "abc"
  const std::array<std::uint8_t, 3> abc{'a', 'b', 'c'};
  CHECK(cifar10::sha1(abc) == "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST_CASE("the_embedded_files_are_the_exact_ones") {
  for (const char* name : {"train_sample2000.bin", "test_first1000.bin"}) cifar10::verify_digest(MappedFile(data / name));
}

TEST_CASE("a_file_swapped_for_another_is_refused_and_the_other_is_named") {
  TemporaryFolder folder;
  fs::copy_file(data / "test_first1000.bin", folder.path / "data_batch_3.bin");
  const std::string text = refusal(folder.path / "data_batch_3.bin", DataFault::wrong_digest);
  CHECK(text.find("SHA-1 must be 1dd00a74ab1d17a6e7d73e185b69dbf31242f295, got 99fb5092fe8004d15ee248abbc35fef4d858bcb0 "
                  "(test_first1000.bin)") != std::string::npos);
}

TEST_CASE("one_flipped_bit_in_a_pixel_is_refused") {
  TemporaryFolder folder;
  const auto path = folder.path / "test_first1000.bin";
  fs::copy_file(data / "test_first1000.bin", path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(1'000'000);
  const int byte = file.get();
  file.seekp(1'000'000);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  const std::string text = refusal(path, DataFault::wrong_digest);
  CHECK(text.find('(') == std::string::npos);
}

TEST_CASE("a_file_with_no_official_name_cannot_be_verified") {
  TemporaryFolder folder;
  refusal(folder.write("mine.bin", "x"), DataFault::unknown_digest);
}
