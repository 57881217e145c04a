#!/usr/bin/env bash
# The README's code is quickstart.cpp's, and its output is what the program prints. check.sh PROGRAM README
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
code=$(awk '/^\/\/ \[readme\]/ { inside = !inside; next } inside' "$here/quickstart.cpp")
shown=$(awk '/^```cpp/ { inside = 1; next } /^```/ && inside { exit } inside' "$2")
if [ "$code" != "$shown" ]; then
  echo "README.md's first cpp block is not the [readme] part of quickstart.cpp:"
  diff <(echo "$shown") <(echo "$code") || true
  exit 1
fi
output=$("$1")
grep -qxF -- "$output" "$2" || { echo "README.md does not show the program's output: $output"; exit 1; }
echo "$output"
