# To be sourced in the project's root: builds the training program with its CUDA side and sets `program` to it.
# Libraries come from where CMake finds them, from Python wheels (cuDNN), or from .carry/, which benchmarks/carry.sh fills.

build_gpu() {
  local build=$PWD/build/gpu_example carry=$PWD/.carry options=(-DCMAKE_BUILD_TYPE=Release) cudnn log
  options+=(-DMEZZO_BUILD_TESTS=OFF -DMEZZO_BUILD_BENCHMARKS=OFF "-DCMAKE_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES:-90}")
  nvidia-smi -L 2>/dev/null | grep -q . || { echo "error: no GPU: nvidia-smi -L lists none" >&2; return 5; }
  cudnn=$(python3 - 2>/dev/null <<'PYTHON'
import importlib.util, os
spec = importlib.util.find_spec("nvidia")
for place in (spec.submodule_search_locations if spec else []):
    if os.path.isdir(os.path.join(place, "cudnn", "include")):
        print(os.path.join(place, "cudnn"))
        break
PYTHON
  )
  [ -z "$cudnn" ] || options+=("-DCUDNN_ROOT=$cudnn")
  [ ! -d "$carry/usr" ] || options+=("-DCMAKE_PREFIX_PATH=$carry/usr")
  [ ! -d "$carry/cudnn_frontend" ] || options+=("-DCUDNN_FRONTEND_ROOT=$carry/cudnn_frontend")
  if ! echo '#include <cblas.h>' | g++ -E -x c++ - >/dev/null 2>&1 && [ -f "$carry/blas/lib/libblas.so" ]; then
    options+=("-DMEZZO_CBLAS_INCLUDE_DIR=$carry/blas/include" "-DMEZZO_CBLAS_LIBRARY=$carry/blas/lib/libblas.so")
    export LD_LIBRARY_PATH="$carry/blas/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  fi
  mkdir -p "$build"
  log=$build/build.log
  if ! { cmake -S . -B "$build" -G Ninja "${options[@]}" && cmake --build "$build" --target cifar10_resnet -j "$(nproc)"; } >"$log" 2>&1; then
    echo "error: the build failed, last lines of $log:" >&2
    grep -E 'error|FAILED|undefined' "$log" | head -20 >&2
    tail -5 "$log" >&2
    return 1
  fi
  grep -E '^-- mezzo:' "$log" || true
  program=$build/examples/cifar10_resnet/cifar10_resnet
}

# Sets `data` to the options for the folder given: batches 1-4 to train, 5 to test, or the small sample where they are missing.
choose_data() {
  if [ -f "$1/data_batch_5.bin" ]; then
    data=(--train "$1"/data_batch_{1,2,3,4}.bin --test "$1/data_batch_5.bin")
  elif [ -f "$1/train_sample2000.bin" ]; then
    data=(--train "$1/train_sample2000.bin" --test "$1/test_first1000.bin")
  else
    echo "error: $1 has neither data_batch_1.bin to data_batch_5.bin nor train_sample2000.bin" >&2
    return 3
  fi
}
