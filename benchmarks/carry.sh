#!/usr/bin/env bash
# Fills .carry/ with what the tests and benchmarks need and a GPU machine without network may lack: headers and small
# libraries of installed Debian packages, a reference CBLAS, and the headers of cudnn-frontend. run_gpu.sh looks there.
# Run it where packages can be fetched, then take the working tree and .carry/ to the GPU machine (x86-64). About 15 MB.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .carry/usr
carry=$PWD/.carry
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Installed packages: their headers, libraries and CMake files.
for package in doctest-dev libcli11-dev librapidcheck-dev nlohmann-json3-dev libbenchmark-dev libbenchmark1debian; do
  files=$(dpkg-query -L "$package" 2>/dev/null | grep -E '^/usr/(include|lib|share/cmake|share/pkgconfig)/') || {
    echo "carry: $package is not installed here, left out" >&2
    continue
  }
  while read -r file; do
    [ -d "$file" ] && [ ! -L "$file" ] && continue
    mkdir -p "$carry$(dirname "$file")"
    cp -a "$file" "$carry$file"
  done <<<"$files"
done

# The reference BLAS, which is small: an oracle need not be fast.
if (cd "$work" && apt-get download -qq libblas3 libblas-dev libgfortran5 libquadmath0 2>/dev/null); then
  for archive in "$work"/*.deb; do dpkg -x "$archive" "$work/blas"; done
  mkdir -p "$carry/blas/include" "$carry/blas/lib"
  cp "$work"/blas/usr/include/x86_64-linux-gnu/cblas*.h "$carry/blas/include"
  [ -f "$carry/blas/include/cblas.h" ] || cp "$carry/blas/include/cblas-netlib.h" "$carry/blas/include/cblas.h"
  cp -L "$work"/blas/usr/lib/x86_64-linux-gnu/blas/libblas.so.3 "$work"/blas/usr/lib/x86_64-linux-gnu/libgfortran.so.5 \
    "$work"/blas/usr/lib/x86_64-linux-gnu/libquadmath.so.0 "$carry/blas/lib"
  ln -sf libblas.so.3 "$carry/blas/lib/libblas.so"
else
  echo "carry: no reference BLAS could be fetched: tests of host ops will be skipped" >&2
fi

if [ ! -f "$carry/cudnn_frontend/include/cudnn_frontend.h" ]; then
  if python3 -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
       --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 \
       -d "$work" nvidia-cudnn-frontend; then
    python3 - "$work" "$carry/cudnn_frontend" <<'PYTHON'
import glob, sys, zipfile
wheel, = glob.glob(sys.argv[1] + "/nvidia_cudnn_frontend-*.whl")
archive = zipfile.ZipFile(wheel)
archive.extractall(sys.argv[2], [name for name in archive.namelist() if name.startswith("include/")])
PYTHON
  else
    echo "carry: no cudnn-frontend could be fetched: what needs it is left out" >&2
  fi
fi
du -sh "$carry"/*
