#!/usr/bin/env bash
# Compares float32, float16 and bfloat16 on the CIFAR-10 images beside this script: installs what is missing, builds the
# training program, trains, ends with a table and a picture of the curves. Trains on the GPU where nvidia-smi lists one and
# nvcc is found, else on the CPU. No network for data.
#
#   demo.sh             minutes on 2 cores, less on a GPU; fails when a precision does not learn or ends far from float32
#   demo.sh --short     seconds: does everything work?
#   demo.sh --results   the demo, and float16 without loss scaling; writes docs/results.md, results.json and the picture
#
# Further arguments go to the program, and then nothing is expected of the accuracy: demo.sh --epochs 3 --depth 20
set -eu
cd "$(dirname "$0")/../.."
case "${1:-}" in --short | --results) mode=$1 && shift ;; *) mode=full ;; esac

. cmake/setup.sh
mezzo_setup example
build=build/demo results=build/cifar10_results cuda=OFF device=()
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ $mode != --results ] && [ -x "$nvcc" ] && nvidia-smi -L 2>/dev/null | grep -q .; then
  build=build/demo_cuda cuda=ON
  [[ " $*" = *" --device"* ]] || device+=(--device cuda)
  [[ " $*" = *" --log-every"* ]] || device+=(--log-every 1)
fi
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DMEZZO_CUDA=$cuda -DMEZZO_BUILD_TESTS=OFF -DMEZZO_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build $build --target cifar10_resnet

# Threads that wait without spinning lose little on an idle machine and much less on a busy one.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
runs=float32,float16,bfloat16
expect=()
[ $# -gt 0 ] || expect=(--expect-accuracy 35 --expect-gap 4)
case $mode in
  --short) expect=(--max-steps 20) ;;
  --results) runs=$runs,float16_unscaled expect=() ;;
esac
status=0 begin=$(mktemp)
trap 'rm -f "$begin"' EXIT
$build/examples/cifar10_resnet/cifar10_resnet "${device[@]}" --compare $runs "${expect[@]}" --output $results "$@" || status=$?
drawn=   # the runs of which an epoch was tested
for run in ${runs//,/ }; do
  if [ "$results/$run.csv" -nt "$begin" ] && grep -qs '[0-9]$' "$results/$run.csv"; then drawn+="$run "; fi
done
if [ ! "$results/results.json" -nt "$begin" ]; then
  :   # nothing was trained: a refused option, --help
elif [ -z "$drawn" ]; then
  echo "no picture: no epoch was tested"
elif gnuplot -e "folder='$results'; runs='$drawn'" examples/cifar10_resnet/plot.gp; then
  echo "picture: $results/curves.png"
else
  echo "no picture: gnuplot failed; the curves are in $results/*.csv"
fi
if [ $mode = --results ] && [ $status = 0 ]; then
  figures=($results)
  if cmake -S . -B build/results -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-O3 -march=native -fopenmp" -DMEZZO_CUDA=OFF \
    -DMEZZO_BUILD_TESTS=OFF -DMEZZO_BUILD_EXAMPLES=OFF >/dev/null && cmake --build build/results --target ops.host_ops.bench; then
    build/results/benchmarks/ops.host_ops.bench --benchmark_out=$results/host_ops.json >/dev/null
    figures+=($results/host_ops.json)
  fi
  python3 examples/cifar10_resnet/write_results.py "${figures[@]}"
fi
exit $status
