#!/usr/bin/env bash
# include_time.sh [runs]: what including the policy headers costs a compiler, over an empty file with the toolkit's half headers.
#
# Each figure is the median processor time (user + system) of `runs` compilations (default 5), the files taken in turn, so that a busy
# machine disturbs all alike. Each line's file also has the headers of the lines before it. Compilers: $CXX (g++) and $NVCC (nvcc, left
# out where there is none). CUDA_HOME: the toolkit.
set -eu
runs=${1:-5}
cuda=${CUDA_HOME:-/usr/local/cuda}
root=$(cd "$(dirname "$0")/../.." && pwd)
cxx=${CXX:-g++}
nvcc=${NVCC:-$(command -v nvcc || echo "$cuda/bin/nvcc")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 "-I$root/include")
host_flags=(-fsyntax-only -isystem "$cuda/include" -isystem "$cuda/include/cccl")

names=(halves policy ops view all_policy mezzo)
declare -A adds=(
  [halves]='cuda_bf16.h cuda_fp16.h cuda_fp8.h'
  [policy]='mezzo/policy/policy.hpp'
  [ops]='mezzo/policy/ops.hpp'
  [view]='mezzo/policy/view.hpp'
  [all_policy]='mezzo/policy/cast_report.hpp mezzo/policy/dispatch.hpp mezzo/policy/environment.hpp mezzo/policy/mdspan_view.hpp
    mezzo/policy/parameter_view.hpp mezzo/policy/traced.hpp'
  [mezzo]='mezzo/mezzo.hpp')
text=
for name in "${names[@]}"; do
  for header in ${adds[$name]}; do text+="#include <$header>"$'\n'; done
  printf '%s' "$text" >"$work/$name.cu"
done

seconds() {  # processor time of a command
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.3f\n", $1 + $2 }'
}

measure() {  # measure <compiler> <flag>...: one line a file
  local compiler=$1 name run
  shift
  rm -f "$work"/*.times
  for ((run = 0; run < runs; ++run)); do
    for name in "${names[@]}"; do seconds "$compiler" "${flags[@]}" "$@" "$work/$name.cu" >>"$work/$name.times"; done
  done
  local none=
  for name in "${names[@]}"; do
    local median
    median=$(sort -n "$work/$name.times" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }')
    awk -v c="$(basename "$compiler")" -v n="$name" -v t="$median" -v z="${none:=$median}" \
      'BEGIN { printf "%-8s %-11s %.2f s   %+.2f s\n", c, n, t, t - z }'
  done
}

"$cxx" "${flags[@]}" "${host_flags[@]}" -x c++ "$work/mezzo.cu"  # stops here where the headers do not compile
measure "$cxx" "${host_flags[@]}" -x c++
if [ -x "$nvcc" ]; then measure "$nvcc" -c -o /dev/null -arch=sm_90; fi
