// main() of every test program: doctest's runner, with an exit code of its own for "nothing here could run".
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "support/skip.hpp"

namespace {

constexpr int exit_skipped = 77;  // SKIP_RETURN_CODE of tests/CMakeLists.txt

unsigned cases_run = 0;
std::string running;             // the test case that runs now, with its place: names may occur twice
std::set<std::string> skipped;

struct Counter : doctest::IReporter {
  explicit Counter(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& data) override {
    ++cases_run;
    running = std::string(data.m_file.c_str()) + ':' + std::to_string(data.m_line) + ": " + data.m_name;
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace

REGISTER_LISTENER("counter", 1, Counter);

namespace mezzo::test {

void skip(const char* reason) {
  if (skipped.insert(running).second) std::printf("skipped: %s: %s\n", running.c_str(), reason);
}

}  // namespace mezzo::test

int main(int argc, char** argv) {
  bool filtered = false;
  for (int i = 1; i < argc; ++i) filtered = filtered || argv[i][0] == '-';

  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;  // a query such as --list-test-cases
  if (result != EXIT_SUCCESS) return result;
  if (cases_run == 0) {
    std::puts("no test case ran");
    return filtered ? exit_skipped : EXIT_FAILURE;
  }
  if (skipped.empty()) return EXIT_SUCCESS;
  std::printf("%zu of %u test cases skipped\n", skipped.size(), cases_run);
  return skipped.size() == cases_run ? exit_skipped : EXIT_SUCCESS;
}
