#!/usr/bin/env bash
# alone.sh <compiler> <flag>... -- <header>...
# Compiles every header as the only content of a translation unit, included twice. Two at a time.
set -u
command=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do command+=("$1"); shift; done
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

stubs=()
for header in "$@"; do
  stub=$work/${header//\//_}.cpp
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$stub"
  stubs+=("$stub")
done
[ ${#stubs[@]} -gt 0 ] || { echo "no header given"; exit 1; }

printf '%s\0' "${stubs[@]}" | xargs -0 -n 1 -P "${JOBS:-2}" "${command[@]}"
status=$?
[ $status -eq 0 ] && echo "${#stubs[@]} headers compile alone"
exit $status
