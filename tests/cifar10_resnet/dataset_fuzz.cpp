// libFuzzer on the data-set reader: whatever the bytes, the file is refused with a DataError or every image can be read.
//
// clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined dataset_fuzz.cpp -o dataset_fuzz
// ./dataset_fuzz -max_len=9300 -runs=5000000

#include "../../examples/cifar10_resnet/dataset.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("images", MFD_CLOEXEC);
  static const std::vector<std::filesystem::path> paths{"/proc/self/fd/" + std::to_string(file)};
  if (file < 0 || ::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();

  bool right = size != 0 && size % cifar10::record_bytes == 0;
  for (std::size_t i = 0; right && i < size; i += cifar10::record_bytes) right = data[i] < cifar10::classes;
  try {
    const cifar10::Dataset images(paths);
    if (!right || images.size() != size / cifar10::record_bytes) std::abort();
    for (std::size_t i = 0; i < images.size(); ++i) {
      const std::uint8_t* const record = data + i * cifar10::record_bytes;
      if (images.label(i) != record[0] || !std::ranges::equal(images.pixels(i), std::span(record + 1, cifar10::image_bytes))) std::abort();
    }
  } catch (const cifar10::DataError& error) {
    if (right || std::string(error.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
