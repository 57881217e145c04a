#pragma once
// CIFAR-10 files in their official binary layout, mapped into memory and checked before a byte is used.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cifar10 {

inline constexpr std::size_t classes = 10;
inline constexpr std::size_t side = 32;                            // pixels
inline constexpr std::size_t channels = 3;
inline constexpr std::size_t image_bytes = channels * side * side; // R plane, G plane, B plane, each row by row
inline constexpr std::size_t record_bytes = 1 + image_bytes;       // one label byte in front
inline constexpr std::size_t most_files = 1024;                    // of one data set

/// Why a file was refused.
enum class DataFault {
  no_files,
  too_many_files,
  missing,
  not_a_regular_file,
  unreadable,
  empty,
  other_format,     ///< compressed, an archive, or the Python form of the data set
  partial_record,   ///< the size is not a whole number of records
  bad_label,
  repeated_file,    ///< two files hold the same images
  shared_images,    ///< a test file holds images of the training files
  too_many_images,
  unknown_digest,   ///< nobody knows what this file should be
  wrong_digest
};

/// A file is not what it should be. `what()` is one line: the file, the rule, what was found.
class DataError : public std::runtime_error {
 public:
  DataError(DataFault fault, const std::filesystem::path& file, const std::string& rule)
      : std::runtime_error(file.string() + ": " + rule), fault_(fault) {}
  DataFault fault() const noexcept { return fault_; }

 private:
  DataFault fault_;
};

/// One regular file, mapped read-only. The mapping stays valid when the file is renamed or deleted; if another program
/// cuts the file short meanwhile, reading the lost part ends the process with SIGBUS: that is mmap's nature.
class MappedFile {
 public:
  /// @throws DataError when `path` is missing, not a regular file, unreadable or empty. A FIFO is refused, not waited for.
  explicit MappedFile(std::filesystem::path path) : path_(std::move(path)) {
    const int descriptor = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) fail_with_errno("cannot be opened");
    struct Closer {
      int descriptor;
      ~Closer() { ::close(descriptor); }
    } closer{descriptor};
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) fail_with_errno("cannot be examined");
    if (!S_ISREG(status.st_mode))
      throw DataError(DataFault::not_a_regular_file, path_,
                      std::string("must be a regular file, got a ") + kind_of(status.st_mode));
    if (status.st_size == 0) throw DataError(DataFault::empty, path_, "must hold at least one image, got 0 bytes");
    size_ = static_cast<std::size_t>(status.st_size);
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) fail_with_errno("cannot be mapped into memory");
    data_ = static_cast<const std::uint8_t*>(address);
  }
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }

  const std::filesystem::path& path() const noexcept { return path_; }
  std::span<const std::uint8_t> bytes() const noexcept { return {data_, size_}; }

 private:
  [[noreturn]] void fail_with_errno(const char* what) const {
    const int code = errno;
    const bool missing = code == ENOENT || code == ENOTDIR;
    throw DataError(missing ? DataFault::missing : DataFault::unreadable, path_,
                    std::string(what) + ": " + std::generic_category().message(code));
  }
  static const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "directory";
    if (S_ISFIFO(mode)) return "FIFO";
    if (S_ISSOCK(mode)) return "socket";
    return "device";
  }

  std::filesystem::path path_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The name of another file format that `bytes` begin like, or an empty string. No CIFAR-10 file is mistaken: every one
/// of these formats begins with a byte above 9, which cannot be a label.
inline std::string_view other_format(std::span<const std::uint8_t> bytes) {
  struct Magic {
    std::size_t offset;
    std::string_view text, name;
  };
  static constexpr std::array magics{
      Magic{0, "\x1f\x8b", "a gzip file"},          Magic{0, "\xfd\x37zXZ", "an xz file"},
      Magic{0, "BZh", "a bzip2 file"},              Magic{0, "PK\x03\x04", "a zip file"},
      Magic{0, "\x28\xb5\x2f\xfd", "a zstd file"},  Magic{257, "ustar", "a tar archive"},
      Magic{0, "\x80\x02", "a Python pickle (the data set's Python form)"},
      Magic{0, "version https://git-lfs", "a Git LFS pointer"}};
  if (bytes.empty() || bytes[0] < classes) return {};
  for (const Magic& magic : magics)
    if (bytes.size() >= magic.offset + magic.text.size() &&
        std::memcmp(bytes.data() + magic.offset, magic.text.data(), magic.text.size()) == 0)
      return magic.name;
  return {};
}

/// Images and labels of several files, in the order given. Nothing is copied.
class Dataset {
 public:
  /// @throws DataError naming the file, the rule it breaks and what was found; every label of every file is checked.
  explicit Dataset(std::span<const std::filesystem::path> paths) {
    if (paths.empty()) throw DataError(DataFault::no_files, "data set", "must have at least one file, got none");
    if (paths.size() > most_files)
      throw DataError(DataFault::too_many_files, "data set",
                      "must have at most " + std::to_string(most_files) + " files, got " + std::to_string(paths.size()));
    files_.reserve(paths.size());
    for (const auto& path : paths) {
      MappedFile file(path);
      check_layout(file);
      check_labels(file);
      check_not_repeated(file);
      const std::size_t records = file.bytes().size() / record_bytes;
      if (records > std::numeric_limits<std::uint32_t>::max() - size_)
        throw DataError(DataFault::too_many_images, path,
                        "a data set holds fewer than 2^32 images, got " + std::to_string(records) + " more");
      firsts_.push_back(size_);
      size_ += records;
      files_.push_back(std::move(file));
    }
  }

  std::size_t size() const noexcept { return size_; }                    // images
  std::span<const MappedFile> files() const noexcept { return files_; }

  /// @param i in [0, size())
  std::uint8_t label(std::size_t i) const { return record(i)[0]; }
  /// The image's 3,072 bytes as they stand in the file: R, G and B planes. @param i in [0, size())
  std::span<const std::uint8_t, image_bytes> pixels(std::size_t i) const {
    return std::span<const std::uint8_t, image_bytes>(record(i) + 1, image_bytes);
  }

 private:
  const std::uint8_t* record(std::size_t i) const {
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), i);
    const auto file = static_cast<std::size_t>(after - firsts_.begin()) - 1;
    return files_[file].bytes().data() + (i - firsts_[file]) * record_bytes;
  }

  static void check_layout(const MappedFile& file) {
    const auto bytes = file.bytes();
    if (const auto format = other_format(bytes); !format.empty())
      throw DataError(DataFault::other_format, file.path(),
                      "must be in CIFAR-10's binary layout, got " + std::string(format));
    if (const auto rest = bytes.size() % record_bytes; rest != 0)
      throw DataError(DataFault::partial_record, file.path(),
                      "size must be a multiple of " + std::to_string(record_bytes) + " bytes, got " +
                          std::to_string(bytes.size()) + " (" + std::to_string(bytes.size() / record_bytes) +
                          " images and " + std::to_string(rest) + " bytes)");
  }

  static void check_labels(const MappedFile& file) {
    const auto bytes = file.bytes();
    for (std::size_t offset = 0; offset < bytes.size(); offset += record_bytes)
      if (bytes[offset] >= classes)
        throw DataError(DataFault::bad_label, file.path(),
                        "a label must be 0 to 9, got " + std::to_string(bytes[offset]) + " in image " +
                            std::to_string(offset / record_bytes) + " (byte " + std::to_string(offset) + ")");
  }

  void check_not_repeated(const MappedFile& file) const {
    for (const MappedFile& earlier : files_)
      if (std::ranges::equal(earlier.bytes(), file.bytes()))
        throw DataError(DataFault::repeated_file, file.path(),
                        "files must hold different images, got those of " + earlier.path().string());
  }

  std::vector<MappedFile> files_;
  std::vector<std::size_t> firsts_;                                      // index of each file's first image
  std::size_t size_ = 0;
};

/// Refuses a test file of whose images more than 1 % are in `training` too: the accuracy would say little. Fewer may be chance: a
/// large collection holds a picture twice. @throws DataError with fault shared_images
inline void check_disjoint(const Dataset& training, const Dataset& test) {
  const auto for_each_image = [](const MappedFile& file, auto&& visit) {
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    for (std::size_t record = 0; record < bytes.size(); record += record_bytes) visit(bytes.substr(record + 1, image_bytes));
  };
  std::unordered_set<std::string_view> known;
  known.reserve(training.size());
  for (const MappedFile& file : training.files()) for_each_image(file, [&](std::string_view image) { known.insert(image); });
  for (const MappedFile& file : test.files()) {
    const std::size_t images = file.bytes().size() / record_bytes;
    std::size_t shared = 0;
    for_each_image(file, [&](std::string_view image) { shared += known.contains(image); });
    if (shared * 100 > images)
      throw DataError(DataFault::shared_images, file.path(),
                      "test images must be others than the training images, got " + std::to_string(shared) + " of " +
                          std::to_string(images) + " that are both");
  }
}

}  // namespace cifar10
