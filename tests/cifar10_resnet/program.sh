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
expect 3 "test.bin: test images must be others than the training images, got 8 of 8 that are both" --train test.bin --test test.bin --batch 8
expect 2 "data: must be a folder, got \"\"" --data ""
expect 2 "warmup-steps: must be fewer than the run's 8 steps, got 8" "${small[@]}" --warmup-steps 8
expect 2 "expect-gap: must have float32 and another precision in --compare" "${small[@]}" --expect-gap 4
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
mkdir pipe && mkfifo pipe/float16.csv
timeout -k 5 60 "$program" "${small[@]}" --output pipe >stdout 2>stderr
got=$?
[ $got = 4 ] && grep -q "^error: pipe/float16.csv: must be a regular file where it exists, got a FIFO" stderr || fail "a FIFO: $got, $(cat stderr)"
mkdir full && ln -s /dev/full full/float16.csv
"$program" "${small[@]}" --output full >stdout 2>stderr
got=$?
[ $got = 4 ] && grep -q "full/float16.csv: cannot be written: No space left on device" stderr || fail "full disk: $got, $(cat stderr)"

rm full/float16.csv && ln -s /dev/full full/bfloat16.csv
"$program" "${small[@]}" --compare float32,bfloat16 --output full >stdout 2>stderr
got=$?
[ $got = 4 ] && grep -q "^| images/s " stdout && grep -q '"name": "float32"' full/results.json ||
  fail "a disk full in the second run: the first run's results must be told; $got, $(cat stdout stderr)"

# A disk that is full when the results come: the rows of the curves are shorter than the figures.
(trap '' XFSZ && ulimit -f 1 && exec "$program" "${small[@]}" --compare float32,bfloat16 --output short) 2>stderr | cat >stdout
got=${PIPESTATUS[0]}
[ $got = 4 ] && grep -q "^error: short/results.json: cannot be written: File too large" stderr && grep -q "^| images/s " stdout &&
  [ "$(ls -A short | tr '\n' ' ')" = "float32.csv table.md " ] || fail "a disk too small for results.json: $got, $(cat stdout stderr; ls -A short)"

echo "== standard output and error"
"$program" "${small[@]}" --output streams >/dev/full 2>stderr
got=$?
[ $got = 4 ] && [ "$(cat stderr)" = "error: standard output: cannot be written" ] || fail "stdout on a full disk: $got, $(cat stderr)"
"$program" --help >/dev/full 2>stderr
got=$?
[ $got = 4 ] || fail "--help on a full disk: $got"
rm -rf streams && "$program" "${small[@]}" --output streams 2>stderr | true
got=${PIPESTATUS[0]}
[ $got = 4 ] && grep -q '"complete": true' streams/results.json || fail "nobody reads stdout: $got, $(cat stderr)"
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
  rm -rf streams && bash -c '"$@" --output streams '"$closed" - "$program" "${small[@]}" >stdout 2>stderr || fail "$closed: exit code $?"
  [ "$(wc -l <streams/float16.csv)" = 9 ] && ! grep -q epochs streams/float16.csv || fail "$closed: a stream must not run into a file"
done

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

"$program" "${small[@]}" --max-steps 4 --lr 1e30 --expect-accuracy 0.1 --output out >stdout 2>stderr
got=$?
[ $got = 6 ] && grep -q "^error: float16: the last loss is .*nan; its accuracy says nothing" stderr || fail "a network of NaNs: $got, $(cat stderr)"
"$program" "${small[@]}" --max-steps 4 --lr 1e30 --output out >stdout 2>stderr
got=$?
[ $got = 0 ] && grep -q "^warning: float16: the last loss is " stderr || fail "NaNs of which nothing is expected: $got, $(cat stderr)"

# start_run FOLDER ARGUMENTS...: a run in the background, its number in pid. wait_for COMMAND: until it succeeds, a minute at most.
start_run() {
  local folder=$1
  shift
  "$program" --train train.bin --test test.bin --batch 10 "$@" --output "$folder" >stdout 2>stderr &
  pid=$!
}
wait_for() { for _ in $(seq 1200); do "$@" && return; sleep .05; done; fail "waited in vain: $*"; }
has_rows() { [ "$(cat "$1" 2>/dev/null | wc -l)" -gt 3 ]; }

echo "== killed in the second run"
rm -rf out
start_run out --epochs 30 --compare float32,float16
wait_for has_rows out/float32.csv
[ ! -e out/results.json ] && [ ! -e out/table.md ] || fail "no results before there are any"
wait_for has_rows out/float16.csv
kill -KILL $pid
wait $pid 2>/dev/null
grep -q '"complete": true' out/results.json && grep -q '"name": "float32"' out/results.json && ! grep -q '"name": "float16"' out/results.json &&
  grep -q "^| images/s " out/table.md || fail "killed: the first run's results must be whole, got $(cat out/results.json)"
cp out/results.json first.json
rm out/float16.csv
start_run out --epochs 60000
wait_for has_rows out/float16.csv
kill -KILL $pid
wait $pid 2>/dev/null
cmp -s first.json out/results.json || fail "results of before must stay until there are others"

echo "== Ctrl-C"
rm -rf out
start_run out --epochs 60000 --compare float32,float16
wait_for has_rows out/float32.csv
"$program" "${small[@]}" --output out >second 2>&1
got=$?
[ $got = 4 ] && [ "$(cat second)" = "error: out: another run is writing here" ] || fail "two runs in one folder: $got, $(cat second)"
kill -INT $pid
wait $pid
got=$?
[ $got = 130 ] || fail "interrupted: exit code must be 130, got $got"
grep -q "^finishing this step; again to end at once" stderr || fail "interrupted: must say so, got $(cat stderr)"
grep -q "(interrupted)" stdout && grep -q "^| images/s " stdout || fail "interrupted: must print the table so far"
grep -q '"complete": false' out/results.json || fail "interrupted: results.json must say so"
[ "$(tail -c1 out/float32.csv)" = "" ] && [ "$(tail -1 out/float32.csv | tr -cd , | wc -c)" = 8 ] || fail "interrupted: the last row must be whole"

echo "== the demo, interrupted before an epoch was tested, with curves of before, without a build"
mkdir -p demo/examples demo/cmake demo/build/demo/examples/cifar10_resnet demo/build/cifar10_results tools
mkdir demo/examples/cifar10_resnet && cp "$(dirname "$data")/demo.sh" demo/examples/cifar10_resnet
ln -s "$program" demo/build/demo/examples/cifar10_resnet/cifar10_resnet
echo 'mezzo_setup() { :; }' >demo/cmake/setup.sh
for tool in cmake gnuplot; do printf '#!/bin/sh\necho %s "$@" >>%s\n' $tool "$work/calls" >tools/$tool && chmod +x tools/$tool; done
cp compared/*.csv demo/build/cifar10_results
demo=(env CUDACXX=none "PATH=$work/tools:$PATH" bash demo/examples/cifar10_resnet/demo.sh)
setsid "${demo[@]}" --batch 1 --epochs 60000 >stdout 2>stderr &
pid=$!
wait_for test ! -e demo/build/cifar10_results/bfloat16.csv   # that of before
wait_for has_rows demo/build/cifar10_results/float32.csv
kill -INT -- -$pid   # the terminal sends it to all of the group
wait $pid
got=$?
[ $got = 130 ] && grep -qx "no picture: no epoch was tested" stdout && ! grep -q gnuplot calls ||
  fail "demo.sh interrupted: $got, $(tail -3 stdout; cat stderr calls)"
"${demo[@]}" --max-steps 1 >stdout 2>stderr
got=$?
[ $got = 0 ] && grep -q "runs='float32 float16 bfloat16 '" calls || fail "demo.sh: $got, $(tail -3 stdout; cat stderr calls)"

[ $failures = 0 ] && echo "all well" || echo "$failures failures"
exit $((failures > 0))
