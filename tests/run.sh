#!/usr/bin/env bash
# All tests: installs what is missing, builds in build/release and runs everything but the nightly forms.
# Needs the CUDA toolkit (headers; nvcc where there is one) and no GPU. Arguments go to ctest: tests/run.sh -R ^optim
set -eu
cd "$(dirname "$0")/.."
. cmake/setup.sh
mezzo_setup tests
cmake --preset release
cmake --build --preset release -j "$(nproc)"
exec ctest --preset release --output-on-failure -LE nightly -j "$(nproc)" "$@"
