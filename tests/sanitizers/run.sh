#!/usr/bin/env bash
# run.sh <build folder> [<folder for the logs>]
#
# Runs the four tools of compute-sanitizer over a part of the CUDA tests, after showing that each finds a planted fault and
# finds nothing in the same program without it. Prints a table; exits 1 if anything is not as it should be, 77 where there
# is no compute-sanitizer or no GPU. COMPUTE_SANITIZER names the tool where it is not on the PATH.
set -u
build=$(cd "${1:?a build folder}" && pwd) || exit 2
logs=${2:-$build/sanitizer_logs}
mkdir -p "$logs" || exit 2
found=99  # exit code for "the tool found something"

# The reduced set: a program and which of its cases, small enough for tools that slow kernels down a hundredfold, and
# every kernel of the library among them.
tests=(
  'tests/device.steps.cuda|adamw_with_float16*,sgd_with_bfloat16*,sgd_without*,scaling_and_unscaling*'
  'tests/device.graph.cuda|each_replay_decides*,a_learning_rate*,the_first_thing*'
  'tests/device.launches.cuda|an_overflow_that_many*,a_joint_step*,the_default_configuration*'
  'tests/multi_tensor.cuda_runner.cuda|every_column_type*,many_launches*'
  'tests/device/device.two_units.cuda|*'
)

sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)}
[ -n "$sanitizer" ] || { echo "skipped: no compute-sanitizer"; exit 77; }
planted=$build/tests/sanitizers/sanitizers.planted
[ -x "$planted" ] || { echo "$planted is not built"; exit 2; }
"$planted" clean
[ $? -ne 77 ] || { echo "skipped: no CUDA device"; exit 77; }

options() {
  case $1 in
    # The runtime asks the driver for functions that an older one lacks: no fault of the program.
    memcheck) echo --report-api-errors no --track-stream-ordered-races all ;;
    racecheck) echo --racecheck-report all ;;
  esac
}
# under <tool> <log> <program> <argument>...: the exit code of the program, or $found.
under() {
  local tool=$1 log=$2
  shift 2
  # shellcheck disable=SC2046
  timeout 240 "$sanitizer" --tool "$tool" --error-exitcode $found --target-processes application-only $(options "$tool") "$@" >"$log" 2>&1
}

# try_out <tool> <fault>: prints the tool's row of the table; fails when anything is not as it should be.
try_out() {
  local tool=$1 fault=$2 failed=0 seen=found control=clean passed=0 bad=() entry program name log code
  under "$tool" "$logs/$tool.planted.log" "$planted" "$fault"
  code=$?
  [ $code -eq $found ] || { seen="NOT FOUND ($code)"; failed=1; }
  under "$tool" "$logs/$tool.control.log" "$planted" clean
  code=$?
  [ $code -eq 0 ] || { control="NOT CLEAN ($code)"; failed=1; }
  for entry in "${tests[@]}"; do
    program=${entry%%|*}
    name=$(basename "$program")
    log=$logs/$tool.$name.log
    if [ ! -x "$build/$program" ]; then
      bad+=("$name is not built")
      continue
    fi
    under "$tool" "$log" "$build/$program" "--test-case=${entry#*|}"
    code=$?
    # A filter that matches nothing would be clean for ever.
    if [ $code -eq 0 ] && grep -qE 'test cases: +[1-9]' "$log"; then passed=$((passed + 1)); else bad+=("$name: exit code $code"); fi
  done
  local outcome="$passed programs, 0 errors"
  if [ ${#bad[@]} -ne 0 ]; then
    outcome="$passed programs clean, not: $(printf '%s; ' "${bad[@]}")"
    failed=1
  fi
  printf '%-10s %-14s %-20s %-18s %s\n' "$tool" "$fault" "$seen" "$control" "$outcome"
  return $failed
}

failed=0
pairs=(memcheck:out_of_bounds racecheck:race initcheck:uninitialised synccheck:barrier)
jobs=()
for pair in "${pairs[@]}"; do  # side by side: the tools mostly wait for themselves
  try_out "${pair%%:*}" "${pair#*:}" >"$logs/${pair%%:*}.row" &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
printf '%-10s %-14s %-20s %-18s %s\n' tool 'planted fault' 'planted' 'without it' 'tests'
for pair in "${pairs[@]}"; do cat "$logs/${pair%%:*}.row"; done
if [ $failed -ne 0 ]; then
  for log in "$logs"/*.log; do
    case $log in *.planted.log) continue ;; esac
    if grep -qE 'ERROR SUMMARY: [1-9]|hazards? displayed \([1-9]|Status: FAILURE|Target application returned an error' "$log"; then
      echo "--- $log"
      grep -E '^=========|ERROR:|FATAL' "$log" | head -20
    fi
  done
fi
exit $failed
