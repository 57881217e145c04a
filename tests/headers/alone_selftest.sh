#!/usr/bin/env bash
# Plants headers that do not compile alone, or not twice, and sees alone.sh refuse each.
set -u
alone=$(dirname "$0")/alone.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() {  # expect <refused|accepted> <header> <text>
  printf '%s\n' "$3" >"$work/$2"
  if "$alone" "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror "-I$work" -- \
      good.hpp "$2" >"$work/log" 2>&1; then got=accepted; else got=refused; fi
  [ "$got" = "$1" ] || { echo "$2 was $got:"; cat "$work/log"; failures=$((failures + 1)); }
}

compiler=$1
printf '#pragma once\ninline int good() { return 1; }\n' >"$work/good.hpp"
expect accepted fine.hpp '#pragma once
#include <vector>
inline std::vector<int> fine() { return {}; }'
expect refused needs_another.hpp '#pragma once
inline std::vector<int> needs_another() { return {}; }'
expect refused not_twice.hpp 'struct not_twice {};'
expect refused narrows.hpp '#pragma once
inline float narrows(double x) { return x; }'
exit $((failures > 0))
