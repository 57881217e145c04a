#pragma once
// Ctrl-C asks the program to finish the step at hand, print what it has and end; a second one ends it at once.

#include <csignal>

namespace cifar10 {

namespace detail {
inline volatile std::sig_atomic_t interrupt_seen = 0;
}  // namespace detail

/// From now on SIGINT and SIGTERM only set a flag, each the first time it arrives.
inline void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { detail::interrupt_seen = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

inline bool interrupted() { return detail::interrupt_seen != 0; }

}  // namespace cifar10
