#!/usr/bin/env bash
# Builds, tests and measures everything that needs a GPU, and prints a short table last.
#
#   benchmarks/run_gpu.sh OUT_DIR [part...]      parts, in this order: build tests host bench torch ops graph sanitizers resnet
#
# Without parts: build tests bench torch. OUT_DIR receives summary.txt, JSON files, results.md and logs.tar.gz.
# A part builds what it needs; build/gpu is kept, so a second call is short. MEZZO_GPU_SECONDS (default 570) bounds the
# whole call: parts that would begin later are left out and said to be. What carry.sh put into .carry/ is used.
set -u
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,9s/^# \?//p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- build tests bench torch
parts=" $* "
for part in $parts; do
  case $part in
    build | tests | host | bench | torch | ops | graph | sanitizers | resnet) ;;
    *) echo "run_gpu: no such part: $part" >&2; exit 2 ;;
  esac
done

root=$PWD
build=$root/build/gpu
carry=$root/.carry
logs=$(mktemp -d)
summary=$out/summary.txt
: >"$summary"
deadline=$((SECONDS + ${MEZZO_GPU_SECONDS:-570}))
jobs=$(nproc)
status=0
left() { echo $((deadline - SECONDS)); }
say() { echo "$*" | tee -a "$summary"; }
fail() { status=1; say "FAILED: $*"; }
pack() { tar -czf "$out/logs.tar.gz" -C "$logs" . 2>/dev/null; }
trap 'pack; rm -rf "$logs"' EXIT

# wanted <part>: whether it was asked for and there is time for it.
wanted() {
  case $parts in *" $1 "*) ;; *) return 1 ;; esac
  [ "$(left)" -gt 5 ] || { fail "$1: left out, no time"; return 1; }
  pack
  return 0
}
# timed <log> <command...>: runs it within the time left, output to the log; says how long it took.
timed() {
  local log=$1 begin=$SECONDS result=0
  shift
  timeout -k 5 "$(left)" "$@" >"$logs/$log.log" 2>&1 || result=$?
  [ $result -ne 124 ] || echo "run_gpu: out of time" >>"$logs/$log.log"
  echo "$log: $((SECONDS - begin)) s, exit code $result" | tee -a "$logs/times.log"
  return $result
}

{
  date -u
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,temperature.gpu --format=csv
  nvcc --version | tail -2
  g++ --version | head -1
  cmake --version | head -1
  python3 --version
  uname -r
  nproc
} >"$logs/machine.log" 2>&1
say "$(sed -n 3p "$logs/machine.log"), $(sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p' "$logs/machine.log")"

# The folder of a Python package's files, for cuDNN and NCCL from wheels.
wheel() {
  python3 - "$1" 2>/dev/null <<'PYTHON'
import importlib.util, os, sys
spec = importlib.util.find_spec("nvidia")
for place in (spec.submodule_search_locations if spec else []):
    if os.path.isdir(os.path.join(place, sys.argv[1], "include")):
        print(os.path.join(place, sys.argv[1]))
        break
PYTHON
}

configure() {
  [ ! -f "$build/build.ninja" ] || [ ! -f "$build/configured" ] || return 0
  local options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=90) cudnn nccl
  cudnn=$(wheel cudnn)
  nccl=$(wheel nccl)
  [ -z "$cudnn" ] || options+=("-DCUDNN_ROOT=$cudnn")
  [ -z "$nccl" ] || options+=("-DNCCL_ROOT=$nccl")
  [ ! -d "$carry/usr" ] || options+=("-DCMAKE_PREFIX_PATH=$carry/usr")
  [ ! -d "$carry/cudnn_frontend" ] || options+=("-DCUDNN_FRONTEND_ROOT=$carry/cudnn_frontend")
  if ! echo '#include <cblas.h>' | g++ -E -x c++ - >/dev/null 2>&1; then
    if [ -f "$carry/blas/lib/libblas.so" ]; then
      options+=("-DMEZZO_CBLAS_INCLUDE_DIR=$carry/blas/include" "-DMEZZO_CBLAS_LIBRARY=$carry/blas/lib/libblas.so")
    else
      say "no CBLAS: tests of the ops on the host are left out"
    fi
  fi
  timed configure cmake -S "$root" -B "$build" -G Ninja "${options[@]}" || return 1
  grep -E "mezzo: " "$logs/configure.log" || true
  touch "$build/configured"
}
[ ! -d "$carry/blas/lib" ] || export LD_LIBRARY_PATH="$carry/blas/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# make_all / make <target...>: builds as much as can be built.
make() {
  local log=$1
  shift
  configure || { fail "configure"; tail -20 "$logs/configure.log"; return 1; }
  timed "$log" cmake --build "$build" -j "$jobs" -- -k 0 "$@" && return 0
  fail "build: $(grep -c '^FAILED:' "$logs/$log.log") steps: $(grep '^FAILED:' "$logs/$log.log" | sed 's/.*CMakeFiles.//; s/^FAILED: //; s/^\[code=[0-9]*\] //; s/ .*//' | head -20 | tr '\n' ' ')"
  grep -E 'error|undefined reference' "$logs/$log.log" | head -15
  return 1
}

# tests <log> <what> <ctest arguments...>
run_ctest() {
  local log=$1 what=$2
  shift 2
  timed "$log" ctest --test-dir "$build" --output-on-failure --timeout 300 "$@" || true
  local passed failed skipped
  skipped=$(grep -c '\*\*\*Skipped' "$logs/$log.log")
  passed=$(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$logs/$log.log")
  failed=$(grep -cE '\*\*\*(Failed|Timeout|Not Run|Exception)' "$logs/$log.log")
  say "$what: $passed passed, $failed failed, $skipped skipped"
  [ $((passed + failed + skipped)) -ne 0 ] || fail "$what: no test ran"
  if [ "$failed" -ne 0 ] || grep -q 'run_gpu: out of time' "$logs/$log.log"; then
    fail "$what: $(sed -nE 's/.*Test +#[0-9]+: ([^ ]+) .*\*\*\*(Failed|Timeout|Not Run|Exception).*/\1/p' "$logs/$log.log" | tr '\n' ' ')"
    grep -E 'ERROR:|error:|CHECK|REQUIRE|values:' "$logs/$log.log" | head -40
  fi
}

if wanted build; then make build; fi
if wanted tests; then
  make build_tests
  run_ctest tests "tests on the GPU" -L cuda -LE nightly -j 4
fi
if wanted host; then
  make build_tests
  run_ctest host "tests on the host" -LE 'cuda|nightly' -j "$jobs"
fi
if wanted bench; then
  make build_bench optim.optimizer_step.bench loss_scale.scaler_overhead.bench
  for program in optim.optimizer_step loss_scale.scaler_overhead; do
    name=${program#*.}
    timed "$name" "$(find "$build/benchmarks" -name "$program.bench" -type f)" \
      --benchmark_out="$out/$name.json" --benchmark_out_format=json || fail "$program"
  done
fi
if wanted torch; then
  timed torch python3 benchmarks/pytorch/baseline.py --quick --output "$out/pytorch.json" || { fail "PyTorch"; tail -5 "$logs/torch.log"; }
fi
if wanted ops; then
  for source in benchmarks/ops/*.cu; do
    [ -f "$source" ] || { fail "ops: no benchmark"; continue; }
    name=$(basename "$source" .cu)
    make "build_$name" "ops.$name.bench"
    timed "$name" "$build/benchmarks/ops.$name.bench" --benchmark_out="$out/$name.json" --benchmark_out_format=json || fail "ops.$name"
    grep -E '/|%' "$logs/$name.log" | cut -c1-150 | head -60
  done
fi
if wanted graph; then
  make build_tests
  run_ctest graph "graph replays, long form" -L cuda -R graph -j 2
fi
if wanted sanitizers; then
  make build_tests
  timed sanitizers bash tests/sanitizers/run.sh "$build" || fail "sanitizers"
  tail -30 "$logs/sanitizers.log" | tee -a "$summary"
fi
if wanted resnet; then
  make build_resnet
  # The program that has a CUDA side, where there are two.
  program=$(find "$build/examples/cifar10_resnet" -maxdepth 1 -type f -perm -u+x -name 'cifar10_resnet*' | sort -r | head -1)
  timed resnet "${program:-cifar10_resnet}" --device cuda --compare float32,float16,bfloat16 --output "$logs/resnet" || fail "ResNet"
  tail -30 "$logs/resnet.log" | tee -a "$summary"
fi

cat "$logs/times.log" 2>/dev/null
echo
if ls "$out"/*.json >/dev/null 2>&1; then
  python3 benchmarks/compare.py "$out" --markdown "$out/results.md" --output "$out/results.json" 2>&1 | tee -a "$summary"
fi
echo
cat "$summary" | grep -E 'FAILED|passed' || true
[ $status -eq 0 ] && echo "run_gpu: all well" || echo "run_gpu: something FAILED, see logs.tar.gz"
exit $status
