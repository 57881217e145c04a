#include "../../examples/cifar10_resnet/interrupt.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace {

/// How a child that runs `body` ends, and what it writes to standard error.
template <class Body>
int status_of(Body body, std::string& said) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(body());
  }
  ::close(ends[1]);
  for (char c; ::read(ends[0], &c, 1) == 1;) said += c;
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("the_first_interrupt_and_its_double_set_a_flag_and_a_later_one_ends_the_program") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::string said;
    const int status = status_of(
        [signal] {
          cifar10::watch_for_interrupts();
          if (cifar10::interrupted()) return 1;
          ::raise(signal);
          ::raise(signal);
          if (!cifar10::interrupted()) return 2;
          cifar10::detail::first_interrupt.tv_sec -= 1;   // as if it were a second longer ago
          ::raise(signal);
          return 3;
        },
        said);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
    CHECK(said == "\nfinishing this step; again to end at once\n");
  }
}

TEST_CASE("under_nohup_a_hangup_stays_ignored") {
  std::string said;
  const int status = status_of(
      [] {
        ::signal(SIGHUP, SIG_IGN);
        cifar10::watch_for_interrupts();
        ::raise(SIGHUP);
        return cifar10::interrupted() ? 1 : 0;
      },
      said);
  CHECK(status == 0);
  CHECK(said == "");
}
