#!/usr/bin/env bash
# Builds a small tree that keeps every rule of check.sh, then breaks one rule at a time and sees it reported.
set -u
check=$(cd "$(dirname "$0")" && pwd)/check.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

plant() {  # plant <path> <line>...
  mkdir -p "$(dirname "$work/tree/$1")"
  printf '%s\n' "${@:2}" >"$work/tree/$1"
}

good_tree() {
  rm -rf "$work/tree"
  plant include/mezzo/mezzo.hpp '#pragma once' '#include <mezzo/core/error.hpp>' '#include <mezzo/optim/sgd.hpp>'
  plant include/mezzo/core/error.hpp '#pragma once' '#include <string>'
  plant include/mezzo/optim/sgd.hpp '#pragma once' '#include <mezzo/core/error.hpp>' '#include <mezzo/optim/detail/step.hpp>'
  plant include/mezzo/optim/detail/step.hpp '#pragma once' '#include <mezzo/multi_tensor/plan.hpp>'
  plant include/mezzo/multi_tensor/plan.hpp '#pragma once'
  plant include/mezzo/executor/launch.cuh '#pragma once' '#include <mezzo/core/error.hpp>'
  plant tests/core/error_test.cpp '//'
  plant tests/optim/sgd_test.cpp '//'
  plant tests/executor/launch_test.cu '//'
  plant exceptions.txt '# comment' 'multi_tensor/plan.hpp its optimizer tests it'
}

expect() {  # expect <text of the report, or nothing for "clean"> ; then the tree is made good again
  if report=$(EXCEPTIONS=exceptions.txt "$check" "$work/tree" 2>&1); then clean=yes; else clean=no; fi
  if [ -z "$1" ]; then
    [ $clean = yes ] || { echo "the good tree was refused: $report"; failures=$((failures + 1)); }
  elif [ $clean = yes ] || [[ $report != *"$1"* ]]; then
    echo "not reported: $1"; echo "  instead: $report"; failures=$((failures + 1))
  fi
  good_tree
}

good_tree
expect ''
plant include/mezzo/core/error.hpp '#pragma once' '#include <mezzo/optim/sgd.hpp>'
expect 'include/mezzo/core/error.hpp:2: core must not include optim'
plant include/mezzo/optim/detail/step.hpp '#pragma once' '  #  include <mezzo/ops/gemm.hpp>'
plant include/mezzo/ops/gemm.hpp '#pragma once'
plant tests/ops/gemm_test.cpp '//'
expect 'optim must not include ops'
plant include/mezzo/optim/sgd.hpp '#pragma once' '#include <mezzo/executor/launch.cuh>'
expect 'a .hpp must not include a .cuh'
plant include/mezzo/mezzo.hpp '#pragma once' '#include <mezzo/executor/launch.cuh>'
expect 'a .hpp must not include a .cuh'
plant include/mezzo/optim/sgd.hpp '#pragma once' '#include <mezzo/mezzo.hpp>'
expect 'must not include <mezzo/mezzo.hpp>'
plant include/mezzo/ops/gemm.hpp '#pragma once' '#include <mezzo/optim/detail/step.hpp>'
plant tests/ops/gemm_test.cpp '//'
expect 'is private to optim'
plant include/mezzo/optim/sgd.hpp '#pragma once' '#include "detail/step.hpp"'
expect 'own headers are included as <mezzo/...>'
plant include/mezzo/optim/sgd.hpp '#pragma once' '#include <mezzo/core/gone.hpp>'
expect '<mezzo/core/gone.hpp> does not exist'
plant include/mezzo/core/error.hpp '#pragma once' '#include <format>'
expect '<format> is missing'
plant include/mezzo/core/error.hpp '#include <string>'
expect 'no #pragma once'
plant include/mezzo/core/error.hpp '#pragma once' 'namespace mezzo::cuda {}'
expect 'ambiguous'
plant include/mezzo/core/error.hpp '#pragma once' $(yes '//' | head -500)
expect '501 lines; a public header has 500 at most'
for bad in 'return std::max(a, b);' 'max = numeric_limits<int>::max();' 'template <int... I>' 'int small = 0;'; do
  plant include/mezzo/core/error.hpp '#pragma once' '// max(1) and I and "small" may be spoken of' "$bad"
  expect 'include/mezzo/core/error.hpp:3: min, max, small and I are macros'
done
plant include/mezzo/core/error.hpp '#pragma once' 'return (std::max)(Index, "max(1)"); int minimum(int small_one);'
expect ''
for i in 1 2 3 4 5 6 7 8; do
  plant include/mezzo/core/long$i.hpp '#pragma once' $(yes '//' | head -120)
  plant tests/core/long${i}_test.cpp '//'
done
expect 'the median public header has 121 lines'
rm "$work/tree/tests/optim/sgd_test.cpp"
expect 'no test named after it (tests/optim/sgd_test.cpp)'
plant include/mezzo/toys/ball.hpp '#pragma once'
expect 'toys is not one of the layers'
plant include/mezzo/extra.hpp '#pragma once'
expect 'only mezzo.hpp and mezzo.cuh stand outside a folder'
plant include/mezzo/core/code.cpp 'int main() {}'
expect 'only .hpp and .cuh belong in include/'
plant exceptions.txt 'core/gone.hpp tested by nobody'
expect 'core/gone.hpp does not exist'
plant exceptions.txt 'multi_tensor/plan.hpp'
expect 'multi_tensor/plan.hpp has no reason'
rm -r "$work/tree/include/mezzo"/*
expect 'no header in include/mezzo'
exit $((failures > 0))
