#!/usr/bin/env bash
# run.sh <way>: builds consumer/ outside the tree against the library taken in that way, and runs it.
# tests/package/CMakeLists.txt sets the variables used here.
set -eu
way=$1
consumer=$(cd "$(dirname "$0")" && pwd)/consumer
prefix=$WORK/prefix
build=$WORK/$way

cmake_consumer() {
  rm -rf "$build"
  "$CMAKE" -S "$consumer" -B "$build" -G "$GENERATOR" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS="${SANITIZE:-}" "$@"
  "$CMAKE" --build "$build"
  "$build/consumer"
}

case $way in
  install)
    rm -rf "$prefix" "$WORK/staged"
    "$CMAKE" --install "$MEZZO_BUILD" --prefix "$WORK/staged" >/dev/null
    mv "$WORK/staged" "$prefix"   # a package that only works where it was first put is broken
    diff -r "$MEZZO_SOURCE/include" "$prefix/include"
    others=$(cd "$prefix" && find . -type f ! -path './include/mezzo/*' ! -path './share/cmake/mezzo/*' \
      ! -path './share/pkgconfig/mezzo.pc')
    [ -z "$others" ] || { echo "installed by mistake: $others"; exit 1; }
    ! grep -rnF -e "$MEZZO_SOURCE" -e "$WORK" "$prefix/share" || { echo "the package knows where it was built"; exit 1; } ;;
  add_subdirectory | fetch_content)
    cmake_consumer -DWAY=$way -DMEZZO_SOURCE="$MEZZO_SOURCE" ;;
  find_package)
    cmake_consumer -DWAY=find_package -DCMAKE_PREFIX_PATH="$prefix" ;;
  find_package.cuda)
    cmake_consumer -DWAY=find_package -DCMAKE_PREFIX_PATH="$prefix" -DWITH_CUDA=ON \
      -DCMAKE_CUDA_COMPILER="$CUDACXX" -DCMAKE_CUDA_ARCHITECTURES="${ARCHITECTURES%%;*}" ;;
  pkg_config)
    command -v pkg-config >/dev/null || { echo "no pkg-config here"; exit 77; }
    mkdir -p "$build"
    export PKG_CONFIG_PATH=$prefix/share/pkgconfig
    # shellcheck disable=SC2046  # the flags are words
    "$CXX" -std=c++20 -Wall -Wextra -Werror $(pkg-config --cflags mezzo) "$consumer/main.cpp" -o "$build/consumer" $(pkg-config --libs mezzo)
    "$build/consumer" ;;
  nvcc)
    mkdir -p "$build"
    "$CUDACXX" -std=c++20 -Werror all-warnings -arch="sm_${ARCHITECTURES%%[;-]*}" -I"$prefix/include" -x cu "$consumer/main.cpp" -o "$build/consumer"
    "$build/consumer" ;;
  *) echo "no such way: $way"; exit 2 ;;
esac
