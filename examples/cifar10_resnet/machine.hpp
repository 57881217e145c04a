#pragma once
// Which machine and which build a result comes from.

#include <fstream>
#include <string>
#include <thread>

#include <cblas.h>
#include <cuda_runtime_api.h>

#include <nlohmann/json.hpp>

namespace cifar10 {

namespace detail {

/// What stands after the colon in the first line of `file` that begins with `key`.
inline std::string value_of(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key)) {
      const auto start = line.find_first_not_of(" \t", line.find(':') + 1);
      return start == std::string::npos ? "" : line.substr(start);
    }
  return "unknown";
}

}  // namespace detail

/// Processor, cores, memory, compiler, BLAS. Never fails: what cannot be found out is "unknown".
inline nlohmann::ordered_json describe_machine() {
  nlohmann::ordered_json machine{{"processor", detail::value_of("/proc/cpuinfo", "model name")},
                                 {"cores", std::thread::hardware_concurrency()},
                                 {"memory", detail::value_of("/proc/meminfo", "MemTotal")},
                                 {"compiler",
#if defined(__clang__)
                                  "clang++ "
#else
                                  "g++ "
#endif
                                  __VERSION__},
                                 {"cuda_toolkit_headers", std::to_string(CUDART_VERSION / 1000) + "." +
                                                              std::to_string(CUDART_VERSION % 1000 / 10)}};
#ifdef OPENBLAS_VERSION
  machine["blas"] = openblas_get_config();
  machine["blas_threads"] = openblas_get_num_threads();
#endif
#ifdef CIFAR10_FLAGS
  machine["flags"] = CIFAR10_FLAGS;
#endif
  return machine;
}

}  // namespace cifar10
