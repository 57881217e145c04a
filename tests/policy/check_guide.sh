#!/usr/bin/env bash
# check_guide.sh <guide.md> <source>...: every cpp block of the guide stands in the sources, line by line and in one piece.
set -eu
guide=$1
shift
blocks=0 missing=0 block= inside=0
text=$(cat "$@")
while IFS= read -r line || [ -n "$line" ]; do
  case $line in
    '```cpp') inside=1 block= ;;
    '```')
      if [ $inside = 1 ]; then
        blocks=$((blocks + 1))
        case $text in
          *"$block"*) ;;
          *) echo "$guide: not in $*:"; echo "$block"; missing=$((missing + 1)) ;;
        esac
      fi
      inside=0 ;;
    *) [ $inside = 0 ] || block+=$line$'\n' ;;
  esac
done <"$guide"
[ $blocks -gt 0 ] || { echo "$guide: no cpp block found"; exit 1; }
[ $missing -eq 0 ] || exit 1
echo "$blocks blocks stand in $*"
