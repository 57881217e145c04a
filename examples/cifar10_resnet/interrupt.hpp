#pragma once
// Ctrl-C asks the program to finish the step at hand, print what it has and end; a second one, later, ends it at once.

#include <cerrno>
#include <csignal>
#include <ctime>
#include <initializer_list>

#include <unistd.h>

namespace cifar10 {

namespace detail {
inline volatile std::sig_atomic_t interrupt_seen = 0;
inline timespec first_interrupt{};

inline void on_interrupt(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  if (interrupt_seen == 0) {
    first_interrupt = now;
    interrupt_seen = 1;
    constexpr char text[] = "\nfinishing this step; again to end at once\n";
    const int before = errno;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
    errno = before;
  } else if (now.tv_sec - first_interrupt.tv_sec - (now.tv_nsec < first_interrupt.tv_nsec) >= 1) {   // a whole second later
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
}
}  // namespace detail

/// From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag and says so. One that follows within a second is the same:
/// `timeout`, and others that stop a group of processes, send it twice. Where SIGHUP is ignored, as under nohup, it stays so.
inline void watch_for_interrupts() {
  struct sigaction action {}, before {};
  action.sa_handler = detail::on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&action.sa_mask, signal);   // one after the other
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, &action, &before);
  if (before.sa_handler == SIG_IGN) ::sigaction(SIGHUP, &before, nullptr);
}

inline bool interrupted() { return detail::interrupt_seen != 0; }

}  // namespace cifar10
