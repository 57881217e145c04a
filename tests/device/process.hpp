#pragma once
// Runs a test case in a process of its own: for faults that a CUDA context does not survive.
//
// The case is marked `* doctest::skip()`, so that it runs only when it is asked for by name.

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace mezzo::test {

/// The exit code of this program running the one test case `name` with `variables` ("NAME=value") added to the
/// environment; 128 and the signal's number when a signal ended it, -1 when it could not be started.
inline int run_alone(const std::string& name, const std::vector<std::string>& variables = {}) {
  std::vector<std::string> environment = variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view key = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& added : variables) replaced = replaced || std::string_view(added).starts_with(key);
    if (!replaced) environment.emplace_back(text);
  }
  std::vector<std::string> arguments{"/proc/self/exe", "--no-skip", "--test-case=" + name};
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  };
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers(arguments).data(), pointers(environment).data()) != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// A case that hangs must end: the process dies after `seconds`.
inline void end_after(unsigned seconds) { alarm(seconds); }

}  // namespace mezzo::test
