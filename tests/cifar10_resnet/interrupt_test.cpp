#include "../../examples/cifar10_resnet/interrupt.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

#include <sys/wait.h>
#include <unistd.h>

TEST_CASE("the_first_interrupt_and_its_double_set_a_flag_and_a_later_one_ends_the_program") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      cifar10::watch_for_interrupts();
      if (cifar10::interrupted()) ::_exit(1);
      ::raise(signal);
      ::raise(signal);
      if (!cifar10::interrupted()) ::_exit(2);
      cifar10::detail::first_interrupt.tv_sec -= 1;  // as if it were a second longer ago
      ::raise(signal);
      ::_exit(3);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
  }
}
