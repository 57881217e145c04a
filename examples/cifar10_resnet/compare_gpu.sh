#!/usr/bin/env bash
# Speed and memory of the training program on a GPU beside PyTorch's, in one session.
#
#   compare_gpu.sh OUT_DIR DATA_DIR [DEPTH:BATCH...]     default: 18:256 18:1024 20:256 20:1024
#
# DATA_DIR holds data_batch_1.bin to data_batch_5.bin. Each cell trains in float32, tf32, float16 and bfloat16: 20 steps to
# warm up, 200 timed, from one seed with the same batches. Checks that CUDA starts where the host starts, and that every
# precision's loss stays near float32's. PyTorch (benchmarks/pytorch/resnet.py) runs the same steps, eagerly and in a graph.
# A table comes last; OUT_DIR receives it, gpu.json and the runs. PYTORCH=0 leaves PyTorch out.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 2 ] || { sed -n '2,10s/^# \?//p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
. examples/cifar10_resnet/build_gpu.sh
choose_data "$2"
shift 2
[ $# -gt 0 ] || set -- 18:256 18:1024 20:256 20:1024
begin=$SECONDS
build_gpu
echo "built in $((SECONDS - begin)) s"
status=0

# The same images, the same weights, float32: the first losses of host and device.
small=(--train examples/cifar10_resnet/data/train_sample2000.bin --test examples/cifar10_resnet/data/test_first1000.bin)
for device in host cuda; do
  "$program" "${small[@]}" --device $device --precision float32 --depth 8 --batch 50 --max-steps 3 --log-every 1 --output "$out/start_$device" \
    >/dev/null
done

for cell in "$@"; do
  depth=${cell%:*} batch=${cell#*:} started=$SECONDS
  "$program" "${data[@]}" --device cuda --compare float32,tf32,float16,bfloat16 --depth "$depth" --batch "$batch" --epochs 400 \
    --max-steps 220 --warmup-steps 20 --log-every 10 --output "$out/resnet$depth.$batch" >"$out/resnet$depth.$batch.log" ||
    { status=1; echo "FAILED: ResNet-$depth, batch $batch"; tail -3 "$out/resnet$depth.$batch.log"; }
  echo "ResNet-$depth, batch $batch: $((SECONDS - started)) s"
done
if [ "${PYTORCH:-1}" != 0 ]; then
  started=$SECONDS
  python3 benchmarks/pytorch/resnet.py --cells "$(echo "$*" | tr ' ' ',')" --output "$out/pytorch.json" >"$out/pytorch.log" 2>&1 ||
    { status=1; echo "FAILED: PyTorch"; tail -3 "$out/pytorch.log"; }
  echo "PyTorch: $((SECONDS - started)) s"
fi
python3 examples/cifar10_resnet/compare_gpu.py "$out" "$@" >"$out/gpu.md" || status=1
cat "$out/gpu.md"
exit $status
