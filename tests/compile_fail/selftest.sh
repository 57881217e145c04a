#!/usr/bin/env bash
# selftest.sh <compiler> <flag>...: gives check.sh cases that are wrong in each way it must notice.
set -u
check=$(dirname "$0")/check.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() {  # expect <text of the report, or nothing for "passes"> <line of the case>...
  printf '%s\n' "${@:2}" >"$work/case.cpp"
  if report=$("$check" "$work/case.cpp" "${compiler[@]}" 2>&1); then passed=yes; else passed=no; fi
  if [ -z "$1" ]; then
    [ $passed = yes ] || { echo "a good case failed: $report"; failures=$((failures + 1)); }
  elif [ $passed = yes ] || [[ $report != *"$1"* ]]; then
    echo "not reported: $1"; echo "  instead: $report"; failures=$((failures + 1))
  fi
}

compiler=("$@")
refusal='static_assert(sizeof(int) == 1, "Place: a rule. Do this instead.");'
expect '' '// error: a rule. Do this' '#ifdef CONTROL' '#else' "$refusal" '#endif'
expect 'the bad program compiles' '// error: a rule' '#ifdef CONTROL' '#else' '#endif'
expect 'the control does not compile' '// error: a rule' '#ifdef CONTROL' "$refusal" '#else' "$refusal" '#endif'
expect 'the first error is not ours' '// error: a rule' '#ifdef CONTROL' '#else' 'int i = nothing;' "$refusal" '#endif'
expect 'the first error is not ours' '// error: another rule' '#ifdef CONTROL' '#else' "$refusal" '#endif'
expect 'no control' '// error: a rule' "$refusal"
expect "the first line must be" '#ifdef CONTROL' '#else' "$refusal" '#endif'
expect "the first line must be" '// error: ' '#ifdef CONTROL' '#else' "$refusal" '#endif'
expect '' '// error: a rule' '// flags: -DBAD' '// control-flags: -UBAD' '#ifdef BAD' "$refusal" '#endif'

# The user must not have to scroll to the message.
noise=('#warning noise' '#warning noise' '#warning noise' '#warning noise' '#warning noise')   # three lines each
expect '' '// error: a rule' '#ifdef CONTROL' '#else' "${noise[@]:1}" "$refusal" '#endif'
expect 'lines stand before our error' '// error: a rule' '#ifdef CONTROL' '#else' "${noise[@]}" "$refusal" '#endif'
exit $((failures > 0))
