#!/usr/bin/env bash
# include_time.sh [runs]: what including the policy headers costs a compiler, over an empty file with the toolkit's half headers.
#
# Each figure is the least processor time (user + system) of `runs` compilations (default 9), the files taken in turn, so that a busy
# machine disturbs all alike. Compilers: $CXX (g++) and $NVCC (nvcc, left out where there is none). CUDA_HOME: the toolkit.
set -eu
runs=${1:-9}
cuda=${CUDA_HOME:-/usr/local/cuda}
root=$(cd "$(dirname "$0")/../.." && pwd)
cxx=${CXX:-g++}
nvcc=${NVCC:-$(command -v nvcc || echo "$cuda/bin/nvcc")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 "-I$root/include")
host_flags=(-fsyntax-only -isystem "$cuda/include" -isystem "$cuda/include/cccl")

halves='#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n'
names=(halves policy ops view)
printf "$halves" >"$work/halves.cu"
printf "$halves#include <mezzo/policy/policy.hpp>\n" >"$work/policy.cu"
printf "$halves#include <mezzo/policy/policy.hpp>\n#include <mezzo/policy/ops.hpp>\n" >"$work/ops.cu"
printf "$halves#include <mezzo/policy/policy.hpp>\n#include <mezzo/policy/ops.hpp>\n#include <mezzo/policy/view.hpp>\n" >"$work/view.cu"

seconds() {  # processor time of a command
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.3f\n", $1 + $2 }'
}

measure() {  # measure <compiler> <flag>...: one line a file
  local compiler=$1
  shift
  declare -A best
  for ((run = 0; run < runs; ++run)); do
    for name in "${names[@]}"; do
      now=$(seconds "$compiler" "${flags[@]}" "$@" "$work/$name.cu")
      best[$name]=$(awk -v a="${best[$name]:-999}" -v b="$now" 'BEGIN { print (b < a) ? b : a }')
    done
  done
  for name in "${names[@]}"; do
    awk -v c="$(basename "$compiler")" -v n="$name" -v t="${best[$name]}" -v z="${best[halves]}" \
      'BEGIN { printf "%-8s %-8s %.2f s   %+.2f s\n", c, n, t, t - z }'
  done
}

"$cxx" "${flags[@]}" "${host_flags[@]}" -x c++ "$work/view.cu"  # stops here where the headers do not compile
measure "$cxx" "${host_flags[@]}" -x c++
if [ -x "$nvcc" ]; then measure "$nvcc" -c -o /dev/null -arch=sm_90; fi
