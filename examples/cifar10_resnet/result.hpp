#pragma once
// What a run leaves behind: its result, a progress line, a CSV of its curves.

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "memory.hpp"

namespace cifar10 {

/// A result cannot be written. `what()` is one line: the path, then why.
class OutputError : public std::runtime_error {
 public:
  OutputError(const std::filesystem::path& path, const std::string& why) : std::runtime_error(path.string() + ": " + why) {}
};

/// One row of the curves.
struct Step {
  std::uint32_t step = 0, epoch = 0;      // from 1
  float loss = 0.f;                       // mean over the step's images, unscaled
  float train_accuracy = 0.f;             // percent of the step's images
  float learning_rate = 0.f;              // of this step, were it skipped or not
  float scale = 1.f;
  std::uint64_t skipped = 0;              // steps so far
  double images_per_second = 0.;          // since the start, training alone
  std::optional<float> test_accuracy;     // percent; at the end of an epoch
};

/// Share of the gradients that are not zero in float32 but become zero in float16, in percent.
struct Flushed {
  double without_scale = 0., with_scale = 0.;
  float scale = 1.f;                      // the one that with_scale used
};

/// Memory of a CUDA device, in bytes. What the program counts is `Result::bytes`; this is what the device says.
struct DeviceMemory {
  std::uint64_t peak = 0;                 // of the program's allocations while it trained, the data set included
  std::uint64_t data_set = 0;
  std::uint64_t device_used = 0;          // not free on the device: CUDA's and cuDNN's own memory and other programs' too
};

/// One run's column of the table.
struct Result {
  std::string name;
  bool complete = false;                  // all steps made and the last epoch tested; false: interrupted
  std::uint32_t steps = 0;
  std::uint64_t skipped = 0;
  double images_per_second = 0., seconds = 0.;
  float final_scale = 1.f, loss = 0.f;
  std::optional<float> test_accuracy;     // percent
  std::uint32_t tested_epoch = 0;         // the one after which test_accuracy was taken
  std::optional<Flushed> flushed;
  Bytes bytes;
  std::optional<DeviceMemory> device;
};

/// All files of one invocation, in a folder that no other invocation writes to meanwhile.
class Output {
 public:
  /// Proves that files can be written here, then removes the curves of an earlier invocation; its table and its figures stay
  /// until there are new ones. @throws OutputError
  Output(std::filesystem::path folder, const std::vector<std::string>& runs) : folder_(std::move(folder)) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) throw OutputError(folder_, "must be a folder that can be made: " + error.message());
    lock_.descriptor = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (::flock(lock_.descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)   // some file systems know no locks
      throw OutputError(folder_, "another run is writing here");
    check_kind(folder_ / "results.json");
    check_kind(folder_ / "table.md");
    for (const auto& run : runs) check_kind(curves(run));
    std::filesystem::remove(write_temporary("probe", folder_), error);
    for (const auto& run : runs)
      if (is_regular_file(std::filesystem::status(curves(run), error)) && !std::filesystem::remove(curves(run), error))
        throw OutputError(curves(run), "cannot be removed: " + error.message());
  }

  /// Starts the curves of `run` afresh. @throws OutputError
  void start(const std::string& run) {
    csv_path_ = curves(run);
    csv_ = std::ofstream(csv_path_);
    csv_ << "step,epoch,loss,train_accuracy,learning_rate,scale,skipped,images_per_second,test_accuracy\n";
    csv_.flush();
    check(csv_, csv_path_);
  }

  /// Adds a row, on disk when this returns. @throws OutputError when the disk is full
  void add(const Step& s) {
    std::array<char, 200> row{};
    std::snprintf(row.data(), row.size(), "%u,%u,%.6g,%.2f,%.6g,%.9g,%llu,%.1f,", s.step, s.epoch, static_cast<double>(s.loss),
                  static_cast<double>(s.train_accuracy), static_cast<double>(s.learning_rate), static_cast<double>(s.scale),
                  static_cast<unsigned long long>(s.skipped), s.images_per_second);
    csv_ << row.data();
    if (s.test_accuracy) csv_ << *s.test_accuracy;
    csv_ << '\n';
    csv_.flush();
    check(csv_, csv_path_);
  }

  /// Replaces a whole file: under another name first, so that a full disk leaves the old one. @throws OutputError
  void write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name, temporary = write_temporary(text, path);
    std::error_code error, ignored;
    std::filesystem::rename(temporary, path, error);
    if (!error) return;
    std::filesystem::remove(temporary, ignored);
    throw OutputError(path, "cannot be written: " + error.message());
  }

  const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  struct Lock {
    int descriptor = -1;
    ~Lock() { ::close(descriptor); }
  };

  std::filesystem::path curves(const std::string& run) const { return folder_ / (run + ".csv"); }

  /// A FIFO would be waited for, and a folder cannot be replaced. A character device, /dev/null, say, is the user's choice.
  static void check_kind(const std::filesystem::path& path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (error || is_regular_file(status) || is_character_file(status)) return;   // it is not there, mostly
    const char* const kind = is_directory(status) ? "a folder" : is_fifo(status) ? "a FIFO" : "a socket or a device";
    throw OutputError(path, std::string("must be a regular file where it exists, got ") + kind);
  }

  static void check(const std::ofstream& file, const std::filesystem::path& path) {
    if (!file) throw OutputError(path, std::string("cannot be written: ") + std::generic_category().message(errno));
  }

  /// A file of this process alone, gone again when it cannot be written whole. @throws OutputError about `path`
  std::filesystem::path write_temporary(const std::string& text, const std::filesystem::path& path) const {
    const auto temporary = folder_ / (".cifar10_resnet." + std::to_string(::getpid()));
    std::ofstream file(temporary);
    file << text;
    file.close();
    if (file) return temporary;
    const int code = errno;
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw OutputError(path, "cannot be written: " + std::generic_category().message(code));
  }

  std::filesystem::path folder_, csv_path_;
  Lock lock_;
  std::ofstream csv_;
};

/// `text` formatted as by printf.
template <class... Parts>
std::string format(const char* pattern, Parts... parts) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), pattern, parts...);
  return text.data();
}

/// Rewrites one line on a terminal; elsewhere prints a line whenever an epoch ends.
class Progress {
 public:
  Progress(std::string run, std::uint32_t epochs, std::uint32_t steps)
      : run_(std::move(run)), epochs_(epochs), steps_(steps), terminal_(::isatty(STDOUT_FILENO) == 1) {}

  /// What is left is told from all the time since construction, tests and warm-up included.
  void show(const Step& s) {
    if (!terminal_ && !s.test_accuracy) return;
    const auto now = Clock::now();
    if (terminal_ && !s.test_accuracy && now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - started_).count();
    const auto left = static_cast<unsigned>(std::lround(seconds / s.step * (steps_ - s.step)));
    std::string line = format("%-9s epoch %2u/%u  step %u/%u  %6.1f images/s  loss %.3f  scale %-6g skipped %llu  left %u:%02u",
                              run_.c_str(), s.epoch, epochs_, s.step, steps_, s.images_per_second, static_cast<double>(s.loss),
                              static_cast<double>(s.scale), static_cast<unsigned long long>(s.skipped), left / 60, left % 60);
    if (s.test_accuracy) line += format("  test %.1f %%", static_cast<double>(*s.test_accuracy));
    std::printf(terminal_ ? "\r%s\033[K%s" : "%s%s", line.c_str(), s.test_accuracy || !terminal_ ? "\n" : "");
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string run_;
  std::uint32_t epochs_, steps_;
  bool terminal_;
  Clock::time_point started_ = Clock::now(), shown_{};
};

}  // namespace cifar10
