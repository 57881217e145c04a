#!/usr/bin/env bash
# compare.sh <host|device> <source> <low type> <compiler> <flag>...
#
# Compiles the source's hand-written variant and its policy variant and compares the machine code of `run`: the assembly of
# a host compiler, or the bytes that ptxas made of the kernel. They must be equal. A third build with a planted difference
# must not be, or the comparison sees nothing.
set -eu
kind=$1 source=$2 low=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

code() {  # code <name> <flag>...: the machine code of `run` as text
  local name=$1
  shift
  if [ "$kind" = host ]; then
    "$@" -S -o "$work/$name.s" -x c++ "$source"
    # The body of run; local labels are numbered in order of appearance, since other functions of the file use numbers too.
    awk '/^run:/ { on = 1 } on { print } on && /\.cfi_endproc/ { exit }' "$work/$name.s" | grep -vE '^[[:space:]]*\.(loc|file)' |
      awk '{ line = $0; out = ""
             while (match(line, /\.L[A-Z]*[0-9]+/)) {
               label = substr(line, RSTART, RLENGTH)
               if (!(label in number)) number[label] = ++count
               out = out substr(line, 1, RSTART - 1) ".L" number[label]
               line = substr(line, RSTART + RLENGTH)
             }
             print out line }' |
      awk '# An equality test has no order: its operands are sorted.
           function flush() { if (held != "") print held; held = "" }
           /^\tcmp[a-z]\t%[a-z0-9]+, %[a-z0-9]+$/ { flush(); held = $0; next }
           held != "" && /^\tj(n?)e\t/ { split(held, part, /[\t ,]+/); if (part[3] > part[4]) held = "\t" part[2] "\t" part[4] ", " part[3] }
           { flush(); print }
           END { flush() }' >"$work/$name.code"
    grep -E '^[[:space:]]*\.(long|quad|float|double)' "$work/$name.s" >>"$work/$name.code" || true  # the constants
  else
    "$@" -cubin -o "$work/$name.cubin" -x cu "$source"
    readelf -x .text.run "$work/$name.cubin" | grep '^ *0x' >"$work/$name.code"
  fi
  [ "$(wc -l <"$work/$name.code")" -gt 3 ] || { echo "no code of run found in the $name build"; exit 1; }
}

code hand "$@" "-DLOW=$low" -DHAND
code policy "$@" "-DLOW=$low"
code planted "$@" "-DLOW=$low" -DPLANTED

if cmp -s "$work/hand.code" "$work/planted.code"; then
  echo "the planted difference was not seen"
  exit 1
fi
if ! cmp -s "$work/hand.code" "$work/policy.code"; then
  echo "$(basename "$source"), $low: the policy costs machine code"
  diff "$work/hand.code" "$work/policy.code" | head -60
  exit 1
fi
echo "$(basename "$source"), $low: equal, $(wc -l <"$work/hand.code") lines"
