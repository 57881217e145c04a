#!/usr/bin/env bash
# check.sh <root of the project>: the rules of the tree. Prints each breach and exits 1 if there is one.
set -u
cd "$1" || exit 2

# A header may include headers of its own folder and of the folders before it here.
layers=(core executor numeric policy multi_tensor loss_scale optim ops checkpoint distributed diagnostics interop)

# Public headers that need no test of their own, with the reason. One path a line.
declare -A tested_elsewhere
while read -r header reason; do
  [ -n "$header" ] && [ "${header:0:1}" != '#' ] && tested_elsewhere[$header]=$reason
done <"${EXCEPTIONS:-tests/layers/tested_elsewhere.txt}"

declare -A rank
for i in "${!layers[@]}"; do rank[${layers[$i]}]=$i; done

breaches=0
breach() { echo "$1"; breaches=$((breaches + 1)); }

[ -d include/mezzo ] || { echo "no include/mezzo in $1"; exit 2; }
headers=$(find include/mezzo -type f | sort)
[ -n "$headers" ] || { echo "no header in include/mezzo"; exit 2; }

for header in $headers; do
  path=${header#include/mezzo/}
  case $path in
    *.hpp | *.cuh) ;;
    *) breach "$header: only .hpp and .cuh belong in include/"; continue ;;
  esac

  # -- what it includes ------------------------------------------------------------------------------------------
  folder=${path%%/*}
  if [ "$folder" = "$path" ]; then
    case $path in
      mezzo.hpp | mezzo.cuh) ;;
      *) breach "$header: only mezzo.hpp and mezzo.cuh stand outside a folder" ;;
    esac
  elif [ -z "${rank[$folder]+x}" ]; then
    breach "$header: $folder is not one of the layers"
  fi
  while IFS=: read -r line included; do
    place=$header:$line
    case $included in
      \<format\>) breach "$place: <format> is missing from g++ 12" ;;
      \"*) breach "$place: own headers are included as <mezzo/...>" ;;
      \<mezzo/*)
        target=${included#<mezzo/}
        target=${target%>}
        target_folder=${target%%/*}
        [ -f "include/mezzo/$target" ] || breach "$place: <mezzo/$target> does not exist"
        case $path:$target in *.hpp:*.cuh) breach "$place: a .hpp must not include a .cuh (<mezzo/$target>)" ;; esac
        if [ "$folder" != "$path" ]; then
          if [ "$target_folder" = "$target" ]; then
            breach "$place: a header in a folder must not include <mezzo/$target>, which includes everything"
          elif [ "${rank[$target_folder]:--1}" -gt "${rank[$folder]:-99}" ]; then
            breach "$place: $folder must not include $target_folder, which comes after it"
          fi
          case $target in
            "$folder"/*) ;;
            */detail/*) breach "$place: <mezzo/$target> is private to $target_folder" ;;
          esac
        fi ;;
    esac
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$header" |
    sed -E 's/^([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]*[>"]).*/\1:\2/')

  while IFS= read -r hit; do
    breach "$header:${hit%%:*}: a namespace cuda or std here makes cuda::std ambiguous for users of mezzo"
  done < <(grep -nE 'namespace mezzo::(cuda|std)\b|^[[:space:]]*namespace (cuda|std)\b' "$header")
  # A name that a system header defines as a macro (windows.h, rpcndr.h, complex.h) must not stand where it would expand.
  while IFS= read -r hit; do
    breach "$header:${hit%%:*}: min, max, small and I are macros in some programs: write (std::max)(a, b), name it otherwise"
  done < <(sed -E 's,//.*,,; s,"[^"]*",,g' "$header" | grep -nE '(^|[^A-Za-z0-9_])((min|max)[[:space:]]*\(|(small|I)([^A-Za-z0-9_]|$))')
  grep -q '^#pragma once' "$header" || breach "$header: no #pragma once"

  # -- its length and its test --------------------------------------------------------------------------------------
  case $path in */detail/*) continue ;; esac
  lines=$(wc -l <"$header")
  [ "$lines" -le 500 ] || breach "$header: $lines lines; a public header has 500 at most"
  [ "$folder" = "$path" ] && continue
  stem=$(basename "${path%.*}")
  if ! compgen -G "tests/$folder/${stem}_test.*" >/dev/null && [ -z "${tested_elsewhere[$path]+x}" ]; then
    breach "$header: no test named after it (tests/$folder/${stem}_test.cpp)"
  fi
done

for header in "${!tested_elsewhere[@]}"; do
  [ -f "include/mezzo/$header" ] || breach "tests/layers/tested_elsewhere.txt: $header does not exist"
  [ -n "${tested_elsewhere[$header]}" ] || breach "tests/layers/tested_elsewhere.txt: $header has no reason"
done

# -- the whole --------------------------------------------------------------------------------------------------------
median=$(for header in $headers; do case $header in */detail/*) ;; *) wc -l <"$header" ;; esac; done | sort -n |
  awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }')
[ "$median" -le 120 ] || breach "include/mezzo: the median public header has $median lines; 120 at most"

if [ $breaches -eq 0 ]; then
  echo "$(wc -w <<<"$headers") headers keep the order; the median public header has $median lines"
else
  exit 1
fi
