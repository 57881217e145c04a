// Test cases that cannot run on this machine. Definitions in main.cpp.
#pragma once

namespace mezzo::test {

/// Marks the running test case as skipped and prints `reason`; the caller then returns from the test case.
///
/// When every test case of the program was skipped the program exits with 77, which ctest shows as "Skipped".
/// A failed assertion before the skip still fails the test case.
void skip(const char* reason);

}  // namespace mezzo::test

/// Leaves the test case as skipped: `if (!gpu_available()) MEZZO_SKIP("no GPU");`
#define MEZZO_SKIP(reason)            \
  do {                                \
    ::mezzo::test::skip(reason);      \
    return;                           \
  } while (false)
