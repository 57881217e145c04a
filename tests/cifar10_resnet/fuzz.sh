#!/usr/bin/env bash
# Feeds the data-set reader arbitrary bytes. usage: fuzz.sh DATA_FOLDER [RUNS]; exits with 77 where no clang++ has libFuzzer.
set -u
here=$(cd "$(dirname "$0")" && pwd)
data=$1 runs=${2:-5000000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for compiler in clang++ clang++-{14..22}; do
  command -v $compiler >/dev/null || continue
  $compiler -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined "$here/dataset_fuzz.cpp" -o "$work/fuzz" 2>/dev/null || continue
  mkdir "$work/corpus"
  head -c $((3073 * 2)) "$data/test_first1000.bin" >"$work/corpus/two_images"
  cd "$work" && ./fuzz -max_len=9300 -runs="$runs" -print_final_stats=1 corpus 2>&1 | tail -20
  exit "${PIPESTATUS[0]}"
done
echo "no clang++ with libFuzzer"
exit 77
