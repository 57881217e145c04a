#include "../../examples/cifar10_resnet/dataset.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>

#include "temporary_folder.hpp"

using cifar10::DataError;
using cifar10::DataFault;
using cifar10::Dataset;
using cifar10::record_bytes;
namespace fs = std::filesystem;

namespace {

/// `count` records; image i has label i % 10 and its bytes follow from (seed, i, position).
std::string records(std::size_t count, unsigned seed = 0) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += static_cast<char>(i % 10);
    for (std::size_t j = 0; j < cifar10::image_bytes; ++j) bytes += static_cast<char>((j * 7 + i * 13 + seed) % 256);
  }
  return bytes;
}

struct Refusal {
  DataFault fault;
  std::string text;
};
/// What loading `paths` throws; the test fails when nothing is thrown.
Refusal refusal(const std::vector<fs::path>& paths) {
  try {
    Dataset dataset(paths);
  } catch (const DataError& error) {
    const std::string text = error.what();
    CHECK_MESSAGE(text.find('\n') == std::string::npos, "one line: ", text);
    return {error.fault(), text};
  }
  FAIL("not refused");
  return {};
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

fs::path embedded(const char* name) {
  return fs::path(__FILE__).parent_path() / "../../examples/cifar10_resnet/data" / name;
}

}  // namespace

TEST_CASE("reads_labels_and_pixels_as_they_stand_in_the_file") {
  TemporaryFolder folder;
  const std::string bytes = records(3, 5);
  const std::vector paths{folder.write("a.bin", bytes)};
  const Dataset dataset(paths);
  REQUIRE(dataset.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(dataset.label(i) == i);
    for (std::size_t j = 0; j < cifar10::image_bytes; ++j)
      REQUIRE(dataset.pixels(i)[j] == static_cast<std::uint8_t>(bytes[i * record_bytes + 1 + j]));
  }
}

TEST_CASE("several_files_are_one_sequence_in_the_order_given") {
  TemporaryFolder folder;
  const std::vector paths{folder.write("z.bin", records(2, 1)), folder.write("a.bin", records(1, 2)),
                          folder.write("m.bin", records(4, 3))};
  const Dataset dataset(paths);
  REQUIRE(dataset.size() == 7);
  const std::vector<int> labels{0, 1, 0, 0, 1, 2, 3};
  for (std::size_t i = 0; i < 7; ++i) CHECK(dataset.label(i) == labels[i]);
  CHECK(dataset.pixels(1)[0] == 14);   // image 1 of seed 1
  CHECK(dataset.pixels(2)[0] == 2);    // image 0 of seed 2
  CHECK(dataset.pixels(6)[0] == 42);   // image 3 of seed 3
}

TEST_CASE("the_embedded_files_hold_what_their_names_say") {
  const std::vector training{embedded("train_sample2000.bin")};
  const std::vector test{embedded("test_first1000.bin")};
  const Dataset a(training), b(test);
  CHECK(a.size() == 2000);
  CHECK(b.size() == 1000);
  std::vector<int> count(10);
  for (std::size_t i = 0; i < a.size(); ++i) ++count[a.label(i)];
  for (const int c : count) CHECK(c == 200);
  CHECK_NOTHROW(cifar10::check_disjoint(a, b));
}

TEST_CASE("test_images_that_are_training_images_too_are_refused_above_one_percent_of_a_file") {
  TemporaryFolder folder;
  const std::vector training{folder.write("a.bin", records(2)), folder.write("b.bin", records(3, 1))};
  const Dataset known(training);
  const auto refusal_of = [&](const std::string& last) {
    const std::vector test{folder.write("other.bin", records(1, 2)), folder.write("test.bin", records(98, 3) + last)};
    try {
      cifar10::check_disjoint(known, Dataset(test));
    } catch (const DataError& error) {
      CHECK(error.fault() == DataFault::shared_images);
      return std::string(error.what());
    }
    return std::string();
  };
  std::string relabelled = records(1);
  relabelled[0] = 9;   // the image counts, not its label
  CHECK(refusal_of(records(2, 4)) == "");
  CHECK(refusal_of(records(1, 4) + relabelled) == "");
  CHECK(refusal_of(records(1, 1) + relabelled) ==
        (folder.path / "test.bin").string() + ": test images must be others than the training images, got 2 of 100 that are both");
}

TEST_CASE("a_mapped_data_set_survives_the_deletion_of_its_file") {
  TemporaryFolder folder;
  const std::vector paths{folder.write("a.bin", records(2))};
  const Dataset dataset(paths);
  fs::remove(paths[0]);
  CHECK(dataset.label(1) == 1);
}

TEST_CASE("a_mapped_file_moves_its_mapping") {
  TemporaryFolder folder;
  cifar10::MappedFile a(folder.write("a.bin", "abc"));
  const auto* data = a.bytes().data();
  cifar10::MappedFile b(std::move(a));
  CHECK(b.bytes().data() == data);
  CHECK(a.bytes().data() == nullptr);   // NOLINT: nobody unmaps it twice
  cifar10::MappedFile c(folder.write("c.bin", "de"));
  c = std::move(b);
  CHECK(c.bytes().data() == data);
  CHECK(c.bytes().size() == 3);
}

TEST_CASE("every_size_that_is_not_a_whole_number_of_records_is_refused_with_the_size") {
  TemporaryFolder folder;
  const std::string two = records(2) + records(1);
  for (std::size_t size = 1; size <= two.size(); size += size % record_bytes == 1 ? record_bytes - 2 : 1) {
    if (size % record_bytes == 0) continue;
    const auto got = refusal({folder.write("a.bin", two.substr(0, size))});
    REQUIRE(got.fault == DataFault::partial_record);
    REQUIRE(contains(got.text, "a.bin: size must be a multiple of 3073 bytes, got " + std::to_string(size) + " ("));
  }
  CHECK(contains(refusal({folder.write("short.bin", two.substr(0, two.size() - 1))}).text,
                 "got 9218 (2 images and 3072 bytes)"));
  CHECK(contains(refusal({folder.write("long.bin", two + "x")}).text, "got 9220 (3 images and 1 bytes)"));
}

TEST_CASE("an_empty_file_is_refused") {
  TemporaryFolder folder;
  const auto got = refusal({folder.write("a.bin", "")});
  CHECK(got.fault == DataFault::empty);
  CHECK(contains(got.text, "a.bin: must hold at least one image, got 0 bytes"));
}

TEST_CASE("compressed_and_foreign_files_are_named_even_when_their_size_fits") {
  TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> starts{
      {"\x1f\x8b\x08", "gzip"}, {std::string("\xfd\x37zXZ\0", 6), "xz"}, {"BZh9", "bzip2"}, {"PK\x03\x04", "zip"},
      {"\x28\xb5\x2f\xfd", "zstd"}, {"\x80\x02}q\x01", "pickle"}, {"version https://git-lfs.github.com/spec/v1", "LFS"},
      {"cifar-10-batches-bin/" + std::string(236, '\0') + "ustar", "tar"}};
  for (const auto& [start, name] : starts)
    for (const std::size_t size : {record_bytes, record_bytes + 5, std::max<std::size_t>(start.size(), 300)}) {
      std::string bytes = start;
      bytes.resize(size, '\1');
      const auto got = refusal({folder.write("a.bin", bytes)});
      CHECK(got.fault == DataFault::other_format);
      CHECK_MESSAGE(contains(got.text, name), got.text);
    }
}

TEST_CASE("an_image_is_never_mistaken_for_another_format") {
  TemporaryFolder folder;
  for (int label = 0; label < 10; ++label) {
    std::string bytes = records(1);
    bytes[0] = static_cast<char>(label);
    bytes.replace(257, 5, "ustar");   // a label in front: pixels may be anything
    const std::vector paths{folder.write("a.bin", bytes)};
    CHECK(Dataset(paths).size() == 1);
  }
}

TEST_CASE("a_label_above_9_is_refused_wherever_it_stands") {
  TemporaryFolder folder;
  for (const std::size_t image : {0u, 1u, 3072u})
    for (const int label : {10, 127, 255}) {
      std::string bytes(3073 * record_bytes, '\0');
      bytes[image * record_bytes] = static_cast<char>(label);
      const auto got = refusal({folder.write("a.bin", bytes)});
      CHECK(got.fault == DataFault::bad_label);
      CHECK(contains(got.text, "a label must be 0 to 9, got " + std::to_string(label) + " in image " +
                                   std::to_string(image) + " (byte " + std::to_string(image * record_bytes) + ")"));
    }
}

TEST_CASE("a_record_shifted_by_one_byte_is_refused") {
  TemporaryFolder folder;
  std::string bytes = records(20, 100);
  bytes = bytes.substr(1) + '\0';
  CHECK(refusal({folder.write("a.bin", bytes)}).fault == DataFault::bad_label);
}

TEST_CASE("missing_files_and_paths_through_files_are_missing") {
  TemporaryFolder folder;
  const auto present = folder.write("a.bin", records(1));
  for (const fs::path& path : {folder.path / "b.bin", folder.path / "no" / "a.bin", present / "a.bin", fs::path()}) {
    const auto got = refusal({present, path});
    CHECK(got.fault == DataFault::missing);
    CHECK(contains(got.text, path.string() + ": cannot be opened: "));
  }
  fs::create_symlink(folder.path / "nowhere", folder.path / "dangling");
  CHECK(refusal({folder.path / "dangling"}).fault == DataFault::missing);
}

TEST_CASE("only_regular_files_are_read_and_a_fifo_does_not_hang") {
  TemporaryFolder folder;
  REQUIRE(::mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
  fs::create_directory(folder.path / "directory");
  const std::vector<std::pair<fs::path, std::string>> cases{
      {folder.path / "fifo", "FIFO"}, {folder.path / "directory", "directory"}, {"/dev/zero", "device"}};
  for (const auto& [path, kind] : cases) {
    const auto got = refusal({path});
    CHECK(got.fault == DataFault::not_a_regular_file);
    CHECK(contains(got.text, "must be a regular file, got a " + kind));
  }
}

TEST_CASE("a_socket_cannot_be_opened") {
  TemporaryFolder folder;
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(descriptor >= 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (folder.path / "socket").string();
  REQUIRE(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(refusal({path}).fault == DataFault::unreadable);
  ::close(descriptor);
}

TEST_CASE("a_file_without_read_permission_is_unreadable") {
  TemporaryFolder folder;
  const auto path = folder.write("a.bin", records(1));
  fs::permissions(path, fs::perms::none);
  const bool root = ::geteuid() == 0;   // root reads everything: be somebody else meanwhile
  if (root) REQUIRE(::seteuid(65534) == 0);
  Refusal got{};
  try {
    got = refusal({path});
  } catch (...) {
    if (root) REQUIRE(::seteuid(0) == 0);
    throw;
  }
  if (root) REQUIRE(::seteuid(0) == 0);
  CHECK(got.fault == DataFault::unreadable);
  CHECK(contains(got.text, "a.bin: cannot be opened: Permission denied"));
}

TEST_CASE("circular_links_and_endless_names_are_unreadable") {
  TemporaryFolder folder;
  fs::create_symlink(folder.path / "b", folder.path / "a");
  fs::create_symlink(folder.path / "a", folder.path / "b");
  CHECK(refusal({folder.path / "a"}).fault == DataFault::unreadable);
  CHECK(refusal({folder.path / std::string(5000, 'x')}).fault == DataFault::unreadable);
}

TEST_CASE("the_same_images_twice_are_refused_under_any_name") {
  TemporaryFolder folder;
  const auto a = folder.write("data_batch_2.bin", records(2, 1));
  const auto b = folder.write("data_batch_3.bin", records(2, 1));
  const auto c = folder.write("data_batch_4.bin", records(2, 2));
  fs::create_symlink(c, folder.path / "link.bin");
  const auto got = refusal({a, c, b});
  CHECK(got.fault == DataFault::repeated_file);
  CHECK(contains(got.text, "data_batch_3.bin: files must hold different images, got those of " + a.string()));
  CHECK(refusal({a, a}).fault == DataFault::repeated_file);
  CHECK(refusal({c, a, b}).fault == DataFault::repeated_file);
  CHECK(refusal({c, a, folder.path / "link.bin"}).fault == DataFault::repeated_file);
}

TEST_CASE("an_empty_list_and_a_huge_list_are_refused_before_any_file_is_opened") {
  CHECK(refusal({}).fault == DataFault::no_files);
  const auto got = refusal(std::vector<fs::path>(100'000, "/nowhere"));
  CHECK(got.fault == DataFault::too_many_files);
  CHECK(contains(got.text, "at most 1024 files, got 100000"));
  CHECK(refusal(std::vector<fs::path>(1025, "/nowhere")).fault == DataFault::too_many_files);
  CHECK(refusal(std::vector<fs::path>(1024, "/nowhere")).fault == DataFault::missing);
}

TEST_CASE("a_refused_list_leaves_no_file_open_and_the_next_list_loads") {
  TemporaryFolder folder;
  const auto good = folder.write("a.bin", records(1));
  const auto bad = folder.write("b.bin", "x");
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator{});
  };
  const auto mappings = [&] {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += contains(line, folder.path.string());
    return count;
  };
  const auto before = open_files();
  for (int i = 0; i < 50; ++i) refusal({good, bad});
  CHECK(open_files() == before);
  CHECK(mappings() == 0);
  const std::vector paths{good};
  const Dataset dataset(paths);
  CHECK(dataset.size() == 1);
  CHECK(open_files() == before);
  CHECK(mappings() == 1);
}

TEST_CASE("random_bytes_are_refused_or_are_whole_records_with_labels_below_10") {
  TemporaryFolder folder;
  std::mt19937 generator(1);
  for (int i = 0; i < 300; ++i) {
    const std::size_t size = generator() % 3 == 0 ? record_bytes * (1 + generator() % 3) : 1 + generator() % 7000;
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(generator());
    if (generator() % 2 == 0)
      for (std::size_t j = 0; j < size; j += record_bytes) bytes[j] = static_cast<char>(generator() % 11);
    bool right = size % record_bytes == 0;
    for (std::size_t j = 0; j < size; j += record_bytes) right = right && static_cast<unsigned char>(bytes[j]) < 10;
    const std::vector paths{folder.write("a.bin", bytes)};
    bool accepted = true;
    try {
      Dataset dataset(paths);
    } catch (const DataError&) {
      accepted = false;
    }
    REQUIRE(accepted == right);
  }
}
