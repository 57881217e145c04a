#!/usr/bin/env bash
# Trains ResNet-18 for 60 epochs on a GPU in tf32, float16 and bfloat16, from one seed, and draws the curves.
#
#   accuracy_gpu.sh OUT_DIR DATA_DIR [options of the program]
#
# DATA_DIR holds data_batch_1.bin to data_batch_5.bin: batches 1-4 to train, 5 to test. OUT_DIR receives curves.png,
# results.json, table.md and the curves as CSV. On an H200 it takes about three minutes, planning and tests included.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { sed -n '2,7s/^# \?//p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
. examples/cifar10_resnet/build_gpu.sh
choose_data "$2"
shift 2
begin=$SECONDS
build_gpu
echo "built in $((SECONDS - begin)) s"
begin=$SECONDS status=0
"$program" "${data[@]}" --device cuda --compare tf32,float16,bfloat16 --depth 18 --epochs 60 --batch 256 --lr 0.1 --momentum 0.9 \
  --weight-decay 5e-4 --output "$out" "$@" || status=$?
if [ ! -f "$out/results.json" ]; then
  echo "no picture: the program wrote no results"
elif ! python3 -c 'import matplotlib' 2>/dev/null; then
  echo "no picture: it needs matplotlib; the CSV files have the curves"
elif ! python3 examples/cifar10_resnet/plot_gpu.py "$out/curves.png" "$out/results.json"; then
  echo "FAILED: the picture; the CSV files have the curves"
  [ $status != 0 ] || status=1
fi
echo "trained and tested in $((SECONDS - begin)) s, exit code $status"
exit $status
