// Compiles a kernel that uses the core policy headers with NVRTC, which has no standard library and needs no GPU.
//
//   nvrtc <source file> <include folder>...     exits 0 when the source compiles and has the kernel, 1 with the log otherwise
#include <nvrtc.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

bool failed(nvrtcResult result, const char* call) {
  if (result != NVRTC_SUCCESS) std::printf("%s: %s\n", call, nvrtcGetErrorString(result));
  return result != NVRTC_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::puts("usage: nvrtc <source file> <include folder>...");
    return 2;
  }
  std::ifstream file(argv[1]);
  std::stringstream source;
  source << file.rdbuf();
  if (!file || source.str().empty()) {
    std::printf("%s cannot be read\n", argv[1]);
    return 2;
  }

  std::vector<std::string> options{"--std=c++20", "--gpu-architecture=compute_90"};
  for (int i = 2; i < argc; ++i) options.push_back(std::string("--include-path=") + argv[i]);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());

  nvrtcProgram program = nullptr;
  if (failed(nvrtcCreateProgram(&program, source.str().c_str(), argv[1], 0, nullptr, nullptr), "nvrtcCreateProgram")) return 1;
  const nvrtcResult compiled = nvrtcCompileProgram(program, static_cast<int>(pointers.size()), pointers.data());
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtcGetProgramLog(program, log.data());
  if (size > 1) std::puts(log.c_str());
  if (failed(compiled, "nvrtcCompileProgram")) return 1;

  if (failed(nvrtcGetPTXSize(program, &size), "nvrtcGetPTXSize")) return 1;
  std::string ptx(size, '\0');
  nvrtcGetPTX(program, ptx.data());
  nvrtcDestroyProgram(&program);
  if (ptx.find(".entry kernel(") == std::string::npos) {
    std::puts("the PTX has no kernel");
    return 1;
  }
  std::printf("%zu bytes of PTX\n", ptx.size());
  return 0;
}
