#include "../../examples/cifar10_resnet/report.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <sys/stat.h>

#include <mezzo/executor/host.hpp>

#include "temporary_folder.hpp"

using namespace cifar10;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Result example(const char* name, std::uint64_t activations, float accuracy) {
  Result result;
  result.name = name;
  result.complete = true;
  result.steps = 400;
  result.skipped = 2;
  result.images_per_second = 250.;
  result.seconds = 80.;
  result.final_scale = 131072.f;
  result.loss = 1.25f;
  result.test_accuracy = accuracy;
  result.tested_epoch = 3;
  result.flushed = Flushed{12.5, .25, 65536.f};
  result.bytes[Use::activations] = activations;
  result.bytes[Use::weights] = 1000;
  return result;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// Meanwhile no file can be longer than this: like a disk that is full in the middle of one.
class DiskOf {
 public:
  explicit DiskOf(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit smaller{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &smaller) == 0);
  }
  DiskOf(const DiskOf&) = delete;
  DiskOf& operator=(const DiskOf&) = delete;
  ~DiskOf() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

std::string refusal(const fs::path& folder) {
  try {
    Output output(folder, {"float16"});
  } catch (const OutputError& error) {
    const std::string text = error.what();
    CHECK(text.find('\n') == std::string::npos);
    return text;
  }
  FAIL("not refused");
  return {};
}

}  // namespace

TEST_CASE("storage_hands_out_zeroed_memory_and_counts_its_bytes_by_use") {
  Storage storage{mezzo::HostExecutor{}};
  const auto a = storage.take<float>(Use::weights, 10);
  const auto b = storage.take<std::uint16_t>(Use::activations, 7);
  storage.take<float>(Use::weights, 1);
  storage.count(Use::optimizer, 123);
  storage.take<float>(Use::workspace, 0);
  CHECK(a.size() == 10);
  CHECK(b.size() == 7);
  for (const float value : a) CHECK(value == 0.f);
  for (const auto value : b) CHECK(value == 0);
  Bytes expected;
  expected[Use::weights] = 44;
  expected[Use::activations] = 14;
  expected[Use::optimizer] = 123;
  CHECK(storage.bytes() == expected);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators end the program instead
TEST_CASE("without_memory_the_refusal_names_the_line_that_took_it") {
  Storage storage{mezzo::HostExecutor{}};
  const std::string line = std::to_string(__LINE__ + 1);
  CHECK_THROWS_WITH_AS(storage.take<std::byte>(Use::weights, std::size_t{1} << 62),
                       ("report_test.cpp:" + line + ": HostExecutor: no memory left for 4611686018427387904 bytes").c_str(),
                       mezzo::OutOfMemory);
}
#endif

TEST_CASE("the_curves_have_a_row_a_step_and_an_accuracy_where_an_epoch_ends") {
  TemporaryFolder folder;
  Output output(folder.path / "new" / "folder", {"float16"});
  output.start("float16");
  Step step{.step = 1, .epoch = 1, .loss = 2.5f, .train_accuracy = 12.5f, .learning_rate = .1f, .scale = 65536.f,
            .skipped = 1, .images_per_second = 300.25, .test_accuracy = {}};
  output.add(step);
  step.step = 2;
  step.loss = std::numeric_limits<float>::infinity();
  step.test_accuracy = 35.5f;
  output.add(step);
  CHECK(contents(folder.path / "new" / "folder" / "float16.csv") ==
        "step,epoch,loss,train_accuracy,learning_rate,scale,skipped,images_per_second,test_accuracy\n"
        "1,1,2.5,12.50,0.1,65536,1,300.2,\n"
        "2,1,inf,12.50,0.1,65536,1,300.2,35.5\n");
}

TEST_CASE("a_new_run_replaces_the_curves_of_the_one_before") {
  TemporaryFolder folder;
  Output output(folder.path, {"float16"});
  output.start("float16");
  output.add({.step = 1, .test_accuracy = {}});
  output.start("float16");
  std::size_t lines = 0;
  for (const char c : contents(folder.path / "float16.csv")) lines += c == '\n';
  CHECK(lines == 1);
}

TEST_CASE("an_output_removes_the_old_curves_of_its_runs_and_nothing_else") {
  TemporaryFolder folder;
  for (const char* name : {"float16.csv", "bfloat16.csv", "float32.csv", "table.md", "target"}) folder.write(name, "old");
  fs::create_symlink("target", folder.path / "tf32.csv");
  const Output output(folder.path, {"float16", "bfloat16", "tf32"});
  for (const char* name : {"float16.csv", "bfloat16.csv", "tf32.csv"}) CHECK(!fs::exists(fs::symlink_status(folder.path / name)));
  for (const char* name : {"float32.csv", "table.md", "target"}) CHECK(contents(folder.path / name) == "old");
  CHECK(names_in(folder.path) == std::set<std::string>{"float32.csv", "table.md", "target"});
}

TEST_CASE("a_folder_belongs_to_one_output_at_a_time") {
  TemporaryFolder folder;
  {
    const Output output(folder.path, {"float16"});
    folder.write("float16.csv", "curves");
    CHECK(refusal(folder.path) == folder.path.string() + ": another run is writing here");
    CHECK(contents(folder.path / "float16.csv") == "curves");
  }
  CHECK_NOTHROW(Output(folder.path, {"float16"}));
}

TEST_CASE("an_unwritable_place_is_refused_before_anything_is_computed") {
  TemporaryFolder folder;
  const auto file = folder.write("file", "x");
  CHECK(contains(refusal(file), "file: must be a folder that can be made"));
  CHECK(contains(refusal(file / "below"), "below: must be a folder that can be made: Not a directory"));
  CHECK(contains(refusal(""), "must be a folder that can be made"));
  CHECK(contains(refusal("/proc/results"), "/proc/results: must be a folder that can be made"));
  fs::create_directories(folder.path / "taken" / "float16.csv");   // a folder where a file must be
  CHECK(contains(refusal(folder.path / "taken"), "taken/float16.csv: must be a regular file where it exists, got a folder"));
  fs::create_directories(folder.path / "busy" / "results.json");
  CHECK(contains(refusal(folder.path / "busy"), "busy/results.json: must be a regular file where it exists, got a folder"));
  fs::create_directory(folder.path / "pipe");
  REQUIRE(::mkfifo((folder.path / "pipe" / "table.md").c_str(), 0600) == 0);
  CHECK(contains(refusal(folder.path / "pipe"), "pipe/table.md: must be a regular file where it exists, got a FIFO"));
  fs::create_directory(folder.path / "locked");
  for (const char* name : {"float16.csv", "table.md", "results.json"}) {
    const auto writable = folder.write(std::string("locked/") + name, "old");   // which does not help
    fs::permissions(writable, fs::perms::all);
  }
  fs::permissions(folder.path / "locked", static_cast<fs::perms>(0555));
  const bool root = ::geteuid() == 0;   // root writes everywhere: be somebody else meanwhile
  if (root) REQUIRE(::seteuid(65534) == 0);
  std::string text;
  try {
    text = refusal(folder.path / "locked");
  } catch (...) {
    if (root) REQUIRE(::seteuid(0) == 0);
    throw;
  }
  if (root) REQUIRE(::seteuid(0) == 0);
  CHECK(text == (folder.path / "locked").string() + ": cannot be written: Permission denied");
  CHECK(contents(folder.path / "locked" / "float16.csv") == "old");
}

TEST_CASE("a_full_disk_is_an_error_and_not_a_silent_loss") {
  TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder.path / "float16.csv");
  Output output(folder.path, {"float16"});
  const auto write = [&] {
    output.start("float16");
    output.add({.step = 1, .test_accuracy = {}});
  };
  CHECK_THROWS_WITH_AS(write(), doctest::Contains("float16.csv: cannot be written: No space left on device"), OutputError);

  folder.write("table.md", "old table");
  {
    const DiskOf disk(100);
    CHECK_THROWS_WITH_AS(output.write("table.md", std::string(101, 'x')), doctest::Contains("table.md: cannot be written: File too large"),
                         OutputError);
  }
  CHECK(contents(folder.path / "table.md") == "old table");
  CHECK(names_in(folder.path) == std::set<std::string>{"float16.csv", "table.md"});
  const DiskOf disk(2);   // not even for the probe
  CHECK(contains(refusal(folder.path / "new"), "new: cannot be written: File too large"));
  CHECK(names_in(folder.path / "new").empty());
}

TEST_CASE("results_are_written_again_after_every_run_and_what_can_be_is_whatever_else_cannot") {
  TemporaryFolder folder;
  const Output output(folder.path, {});
  const nlohmann::ordered_json head{{"options", 1}};
  std::vector<Result> results{example("float32", 1000, 40.f)};
  write_results(output, head, results);
  results.push_back(example("float16", 1000, 39.f));
  write_results(output, head, results);
  const auto json = nlohmann::json::parse(contents(folder.path / "results.json"));
  CHECK(json["options"] == 1);
  CHECK(json["runs"].size() == 2);
  CHECK(contents(folder.path / "table.md") == table(results));

  fs::remove(folder.path / "results.json");
  fs::create_directory(folder.path / "results.json");   // in the way since the output was made
  results.pop_back();
  CHECK_THROWS_WITH_AS(write_results(output, head, results), doctest::Contains("results.json: cannot be written: "), OutputError);
  CHECK(contents(folder.path / "table.md") == table(results));
  CHECK(names_in(folder.path) == std::set<std::string>{"results.json", "table.md"});
}

TEST_CASE("a_file_name_that_is_no_utf_8_does_not_keep_results_from_being_written") {
  TemporaryFolder folder;
  const Output output(folder.path, {});
  Options options;
  options.train_files = {"caf\xe9.bin"};
  write_results(output, {{"options", to_json(options)}}, {example("float16", 1000, 39.f)});
  CHECK(nlohmann::json::parse(contents(folder.path / "results.json"))["options"]["training_files"][0] == "caf\xef\xbf\xbd.bin");
}

TEST_CASE("a_written_file_replaces_the_old_one_whole") {
  TemporaryFolder folder;
  const Output output(folder.path, {});
  output.write("table.md", "first");
  output.write("table.md", "second");
  CHECK(contents(folder.path / "table.md") == "second");
  CHECK(names_in(folder.path) == std::set<std::string>{"table.md"});
}

TEST_CASE("the_table_shows_each_run_and_its_ratio_to_float32") {
  const auto a = example("float32", 2'000'000, 40.f), b = example("float16", 1'000'000, 39.5f);
  const std::string text = table({a, b});
  CHECK(contains(text, "float32 |"));
  CHECK(contains(text, "| bytes of activations "));
  CHECK(contains(text, " 2,000,000 |"));
  CHECK(contains(text, " 1,000,000 (0.5 x) |"));
  CHECK(contains(text, " 250.0 (1 x) |"));
  CHECK(contains(text, " 40.0 |"));
  CHECK(contains(text, " 39.5 (-0.5) |"));
  CHECK(contains(text, " 131072 |"));
  CHECK(contains(text, " 12.500 |"));
  CHECK(contains(text, " 0.250 (scale 65536) |"));
  std::size_t width = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); width = line.size())
    if (width != 0) CHECK(line.size() == width);
}

TEST_CASE("without_a_float32_run_the_table_has_no_ratios") {
  const std::string text = table({example("float16", 1000, 39.f), example("bfloat16", 1000, 38.f)});
  CHECK(!contains(text, " x)"));
  CHECK(!contains(text, "(-"));
}

TEST_CASE("an_interrupted_run_is_marked_and_lacks_what_it_did_not_measure") {
  Result result = example("float16", 1000, 39.f);
  result.complete = false;
  CHECK(contains(table({example("float32", 1000, 40.f), result}), " 39.0 after epoch 3 |"));   // no difference from another epoch's
  result.test_accuracy.reset();
  result.flushed.reset();
  const std::string text = table({result});
  CHECK(contains(text, "400 (interrupted)"));
  CHECK(contains(text, "| test accuracy, %"));
  CHECK(contains(text, " - |"));
  CHECK(to_json(result)["test_accuracy_percent"].is_null());
  CHECK(to_json(result)["tested_epoch"].is_null());
  CHECK(!to_json(result).contains("gradients_lost_in_float16_percent"));
}

TEST_CASE("every_field_of_a_result_stands_in_the_json") {
  Result result = example("float16", 1000, 39.f);
  std::uint64_t value = 10;
  for (const Use use : all_uses) result.bytes[use] = ++value;
  const auto json = nlohmann::json::parse(to_json(result).dump());
  CHECK(json["name"] == "float16");
  CHECK(json["complete"] == true);
  CHECK(json["steps"] == 400);
  CHECK(json["skipped_steps"] == 2);
  CHECK(json["images_per_second"] == 250.);
  CHECK(json["training_seconds"] == 80.);
  CHECK(json["final_scale"] == 131072.);
  CHECK(json["last_loss"] == 1.25);
  CHECK(json["test_accuracy_percent"] == 39.);
  CHECK(json["tested_epoch"] == 3);
  CHECK(json["gradients_lost_in_float16_percent"]["without_scale"] == 12.5);
  CHECK(json["gradients_lost_in_float16_percent"]["with_scale"] == .25);
  CHECK(json["gradients_lost_in_float16_percent"]["scale"] == 65536.);
  value = 10;
  for (const char* key : {"weights", "gradients", "optimizer_state", "activations", "activation_gradients", "workspace"})
    CHECK(json["bytes"][key] == ++value);
  CHECK(json["bytes"].size() == all_uses.size());
  // A field added to Result breaks this line until it is tested above.
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = result;
}

TEST_CASE("every_option_stands_in_the_json") {
  const Options options{.precisions = {Precision::bfloat16, Precision::tf32},
                        .scaling = Scaling::dynamic,
                        .device = Device::cuda,
                        .depth = 20,
                        .epochs = 3,
                        .batch = 7,
                        .accumulate = 2,
                        .max_steps = 9,
                        .warmup_steps = 4,
                        .log_every = 6,
                        .graph = false,
                        .learning_rate = .25f,
                        .momentum = .5f,
                        .weight_decay = .125f,
                        .clip = 2.f,
                        .seed = ~std::uint64_t{0},
                        .augment = false,
                        .train_files = {"folder/a.bin", "b.bin"},
                        .test_files = {"/folder/c.bin"},
                        .verify = true,
                        .output = "some/folder",
                        .expected_accuracy = 35.f,
                        .expected_gap = 4.f};
  const auto expected = nlohmann::json::parse(R"({
    "precisions": ["bfloat16", "tf32"], "scaling": "dynamic", "device": "cuda", "depth": 20, "epochs": 3, "batch": 7, "accumulate": 2,
    "max_steps": 9, "warmup_steps": 4, "log_every": 6, "graph": false, "learning_rate": 0.25, "momentum": 0.5, "weight_decay": 0.125,
    "clip": 2.0, "seed": 18446744073709551615, "augment": false, "training_files": ["a.bin", "b.bin"], "test_files": ["c.bin"],
    "verify": true, "output": "some/folder", "expected_accuracy": 35.0, "expected_gap": 4.0})");
  CHECK(nlohmann::json::parse(to_json(options).dump()) == expected);
  // No value above is a default's, so that a field that to_json leaves at its default is found.
  const nlohmann::json defaults = nlohmann::json::parse(to_json(Options{}).dump());
  for (const auto& [key, value] : defaults.items()) CHECK_MESSAGE(value != expected[key], key);
}

TEST_CASE("memory_of_a_device_stands_in_table_and_json_of_runs_on_one") {
  Result wide = example("float32", 1000, 40.f), narrow = example("float16", 500, 39.f);
  CHECK(!contains(table({wide, narrow}), "peak bytes"));
  CHECK(!to_json(wide).contains("device_bytes"));
  wide.device = DeviceMemory{.peak = 4'000'000, .data_set = 1'234'567, .device_used = 8'000'000};
  narrow.device = DeviceMemory{.peak = 3'000'000, .data_set = 1'234'567, .device_used = 7'000'000};
  const std::string text = table({wide, narrow});
  CHECK(contains(text, "| bytes of the data set"));
  CHECK(contains(text, " 1,234,567 |"));
  CHECK(contains(text, " 3,000,000 (0.75 x) |"));
  CHECK(contains(text, " 7,000,000 (0.875 x) |"));
  const auto json = to_json(narrow)["device_bytes"];
  CHECK(json["peak_in_training"] == 3'000'000);
  CHECK(json["data_set"] == 1'234'567);
  CHECK(json["device_used"] == 7'000'000);
  [[maybe_unused]] const auto& [a, b, c] = *narrow.device;
}

TEST_CASE("numbers_are_grouped_by_thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(18446744073709551615u) == "18,446,744,073,709,551,615");
}
