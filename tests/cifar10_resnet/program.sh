#!/usr/bin/env bash
# The training program seen from outside: exit codes, messages, files. usage: program.sh PROGRAM DATA_FOLDER
set -u
program=$1 data=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_WAIT_POLICY=passive
unset MEZZO_AUTOCAST
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

head -c $((3073 * 40)) "$data/train_sample2000.bin" >train.bin
head -c $((3073 * 8)) "$data/test_first1000.bin" >test.bin
small=(--train train.bin --test test.bin --batch 10 --epochs 2)

# expect CODE TEXT ARGUMENTS...: the program ends with this code and one line "error: ..." that contains the text.
expect() {
  local code=$1 text=$2
  shift 2
  rm -rf out
  "$program" "$@" --output out >stdout 2>stderr
  local got=$?
  [ $got = "$code" ] || fail "$*: exit code must be $code, got $got: $(cat stderr)"
  [ "$(wc -l <stderr)" = 1 ] || fail "$*: must print one line, got: $(cat stderr)"
  grep -q "^error: .*$text" stderr || fail "$*: must say '$text', got: $(cat stderr)"
  [ ! -s stdout ] || fail "$*: must refuse before it starts, got: $(cat stdout)"
  [ ! -e out ] || fail "$*: must leave no output behind"
}
# succeed FOLDER ARGUMENTS...
succeed() {
  local folder=$1
  shift
  "$program" "$@" --output "$folder" >stdout 2>stderr || fail "$*: exit code $?: $(cat stderr)"
  [ ! -s stderr ] || fail "$*: must be silent on stderr, got: $(cat stderr)"
}
column() { cut -d, -f"$2" "$1" | tail -n +2; }

echo "== bad input"
expect 2 "batch: must be a whole number from 1 to 65536, got 0" --batch 0
expect 2 "batch: batch times accumulate must be at most the 40 training images, got 10 \* 5" "${small[@]}" --accumulate 5
expect 2 "must be float32, tf32, float16, bfloat16 or float16_unscaled, got half" --precision half
expect 2 "no_such_option" --no_such_option
expect 2 "got the same file" --train train.bin --test train.bin --batch 10
expect 3 "nowhere.bin: cannot be opened: No such file or directory" --train nowhere.bin
head -c 122919 train.bin >cut.bin
expect 3 "cut.bin: size must be a multiple of 3073 bytes, got 122919" --train cut.bin
gzip -k test.bin
expect 3 "test.bin.gz: must be in CIFAR-10's binary layout, got a gzip file" --test test.bin.gz
expect 3 "/data_batch_1.bin: cannot be opened" --data .
expect 2 "precision: tf32 needs --device cuda" --precision tf32
expect 2 "scaling: must be auto with float16_unscaled, .*, got dynamic" --precision float16_unscaled --scaling dynamic
CUDA_VISIBLE_DEVICES= expect 5 "device: must be host" --device cuda
MEZZO_AUTOCAST=perhaps expect 2 "MEZZO_AUTOCAST must be 1, true, on or yes, or 0, false, off or no, got \"perhaps\"" "${small[@]}"

echo "== places that cannot be written"
echo kept >file
for place in file file/below /proc/results; do
  "$program" "${small[@]}" --output $place >stdout 2>stderr
  got=$?
  [ $got = 4 ] && grep -q "^error: $place" stderr && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] ||
    fail "--output $place: exit code $got, $(cat stdout stderr)"
done
[ "$(cat file)" = kept ] || fail "the file in the way was changed"
mkdir full && ln -s /dev/full full/float16.csv
"$program" "${small[@]}" --output full >stdout 2>stderr
got=$?
[ $got = 4 ] && grep -q "full/float16.csv: cannot be written: No space left on device" stderr || fail "full disk: $got, $(cat stderr)"

rm full/float16.csv && ln -s /dev/full full/bfloat16.csv
"$program" "${small[@]}" --compare float32,bfloat16 --output full >stdout 2>stderr
got=$?
[ $got = 4 ] && grep -q "^| images/s " stdout && grep -q '"name": "float32"' full/results.json ||
  fail "a disk full in the second run: the first run's results must be told; $got, $(cat stdout stderr)"

echo "== a comparison"
succeed compared "${small[@]}" --compare float32,float16,bfloat16,float16_unscaled --seed 3
for run in float32 float16 bfloat16 float16_unscaled; do
  [ "$(column compared/$run.csv 1 | tr '\n' ' ')" = "1 2 3 4 5 6 7 8 " ] || fail "$run.csv must have 8 steps"
  [ "$(column compared/$run.csv 9 | grep -c .)" = 2 ] || fail "$run.csv must have an accuracy for each of 2 epochs"
  grep -q "\"name\": \"$run\"" compared/results.json || fail "results.json lacks $run"
done
grep -q "^| images/s " stdout && diff <(grep '^|' stdout) compared/table.md >/dev/null || fail "the table printed must be table.md"
[ "$(grep -c '"complete": true' compared/results.json)" = 4 ] || fail "four complete runs"
column compared/float16.csv 6 | grep -qx 65536 || fail "float16 must start at the default scale"
column compared/float16_unscaled.csv 6 | grep -qvx 1 && fail "float16_unscaled must not scale"

grep -q '"precisions"' compared/results.json && grep -q '"graph": true' compared/results.json && grep -q '"autocast": true' compared/results.json &&
  grep -q '"training_images": 40' compared/results.json || fail "results.json must have all options, autocast and the number of images"

echo "== the same seed gives the same run, another seed another one"
succeed again "${small[@]}" --precision float16 --seed 3
succeed other "${small[@]}" --precision float16 --seed 4
diff <(column compared/float16.csv 1-7,9) <(column again/float16.csv 1-7,9) || fail "two runs of one seed differ"
[ "$(column again/float16.csv 3)" != "$(column other/float16.csv 3)" ] || fail "another seed must give other losses"
[ "$(column again/float16.csv 3)" != "$(column compared/float32.csv 3)" ] || fail "float16 must not be float32"

echo "== with autocast off, float16 is float32, whose arithmetic a power of two does not change"
MEZZO_AUTOCAST=0 succeed off "${small[@]}" --precision float16 --seed 3
grep -q "autocast off" stdout || fail "must say that autocast is off"
diff <(column off/float16.csv 3) <(column compared/float32.csv 3) || fail "autocast off must train in float32"
column off/float16.csv 6 | grep -qx 65536 || fail "the scaler works with autocast off"

echo "== accumulation, clipping, depths, limits, digests"
succeed accumulated "${small[@]}" --accumulate 2 --precision bfloat16
[ "$(column accumulated/bfloat16.csv 1 | tr '\n' ' ')" = "1 2 3 4 " ] || fail "two passes a step make half the steps"
succeed clipped "${small[@]}" --precision float16 --clip 0.001 --seed 3
[ "$(column clipped/float16.csv 3)" != "$(column again/float16.csv 3)" ] || fail "clipping must change the run"
[ "$(column clipped/float16.csv 3 | head -1)" = "$(column again/float16.csv 3 | head -1)" ] || fail "clipping cannot change the first loss"
succeed plain "${small[@]}" --precision float16 --no-augment --seed 3
[ "$(column plain/float16.csv 3)" != "$(column again/float16.csv 3)" ] || fail "augmentation must change the run"
for depth in 18 20; do succeed deep "${small[@]}" --precision float16 --depth $depth --max-steps 1; done
[ "$(column deep/float16.csv 1)" = 1 ] || fail "--max-steps 1 must be one step"
succeed verified --train "$data/train_sample2000.bin" --test "$data/test_first1000.bin" --verify --max-steps 1 --batch 10
cp test.bin data_batch_3.bin
expect 3 "data_batch_3.bin: SHA-1 must be 1dd00a74ab1d17a6e7d73e185b69dbf31242f295, got " --train data_batch_3.bin --batch 8 --verify

succeed sparse "${small[@]}" --precision float16 --seed 3 --log-every 3 --warmup-steps 2
[ "$(column sparse/float16.csv 1 | tr '\n' ' ')" = "2 3 4 6 8 " ] || fail "rows must stand at every third step and where warm-up and epochs end"
diff <(column sparse/float16.csv 1-3 | tail -1) <(column again/float16.csv 1-3 | tail -1) || fail "telling less must not change the run"

echo "== it learns: 40 images by heart"
succeed learnt --train train.bin --test test.bin --batch 20 --epochs 30 --no-augment --precision float16
column learnt/float16.csv 3 | tail -1 | awk '{ exit !($1 < 0.5) }' || fail "the last loss is $(column learnt/float16.csv 3 | tail -1)"

echo "== an expectation that is not met"
"$program" "${small[@]}" --max-steps 1 --expect-accuracy 100 --output out >stdout 2>stderr
got=$?
[ $got = 6 ] && grep -q "^error: --expect-accuracy: float16 must reach 100 %, got " stderr || fail "--expect-accuracy: $got, $(cat stderr)"

echo "== Ctrl-C"
rm -rf out
"$program" --train train.bin --test test.bin --batch 10 --epochs 60000 --compare float32,float16 --output out >stdout 2>stderr &
pid=$!
for _ in $(seq 600); do
  [ "$(cat out/float32.csv 2>/dev/null | wc -l)" -gt 3 ] && break
  sleep .1
done
kill -INT $pid
wait $pid
got=$?
[ $got = 130 ] || fail "interrupted: exit code must be 130, got $got"
grep -q "(interrupted)" stdout && grep -q "^| images/s " stdout || fail "interrupted: must print the table so far"
grep -q '"complete": false' out/results.json || fail "interrupted: results.json must say so"
[ "$(tail -c1 out/float32.csv)" = "" ] && [ "$(tail -1 out/float32.csv | tr -cd , | wc -c)" = 8 ] || fail "interrupted: the last row must be whole"

[ $failures = 0 ] && echo "all well" || echo "$failures failures"
exit $((failures > 0))
