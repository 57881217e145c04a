#!/usr/bin/env bash
# check.sh <case> <compiler> <flag>...
#
# A case holds a program that must be refused and its control, the same program with the bad line mended:
#
#   // error: text that the first error must contain
#   // flags: -std=c++17            (optional: more flags for the bad program)
#   // control-flags: -std=c++20    (optional: more flags for the control)
#   #include <mezzo/...>
#   #ifdef CONTROL
#   ...
#   #else
#   ...
#   #endif
#
# The bad program must not compile, the first line with "error:" must contain the text, and what the compiler prints
# up to there must be short (15 lines). The control must compile.
set -u
case=$1
shift
longest_lead=15

field() { sed -nE "s,^// $1: *(.*[^ ]) *$,\\1,p" "$case" | head -1; }
first=$(head -1 "$case")
wanted=$(field error)
[ "${first:0:10}" = '// error: ' ] && [ -n "$wanted" ] || { echo "$case: the first line must be '// error: <text>'"; exit 1; }
grep -qE '^[[:space:]]*#[[:space:]]*(ifdef CONTROL|ifndef CONTROL|if.*defined.*CONTROL)|^// control-flags:' "$case" ||
  { echo "$case: no control (#ifdef CONTROL)"; exit 1; }
read -ra bad_flags <<<"$(field flags)"
read -ra control_flags <<<"$(field control-flags)"
failed=0

if ! control=$("$@" -DCONTROL "${control_flags[@]}" "$case" 2>&1); then
  echo "$case: the control does not compile:"
  head -40 <<<"$control"
  failed=1
fi
if output=$("$@" "${bad_flags[@]}" "$case" 2>&1); then
  echo "$case: the bad program compiles; wanted the error: $wanted"
  exit 1
fi
place=$(grep -nE '(^|[^a-zA-Z])(fatal )?error( #[0-9]+)?(-D)?:' <<<"$output" | head -1)
if [ -z "$place" ]; then
  echo "$case: the compiler failed without an error line:"
  head -40 <<<"$output"
  exit 1
fi
error=${place#*:}
if [[ $error != *"$wanted"* ]]; then
  echo "$case: the first error is not ours."
  echo "wanted: $wanted"
  echo "got:    $error"
  echo "all:"
  head -40 <<<"$output"
  failed=1
elif [ "${place%%:*}" -gt $longest_lead ]; then
  echo "$case: $((${place%%:*} - 1)) lines stand before our error, $longest_lead at most:"
  head -40 <<<"$output"
  failed=1
fi
exit $failed
