// gpubench: looks at --device and at the machine, and becomes gpubench-cuda or gpubench-model.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "harness/system/error.hpp"
#include "harness/system/exit_code.hpp"
#include "harness/system/sibling_programs.hpp"
#include "harness/system/standard_streams.hpp"

namespace {

using gpubench::Half;

// The driver is asked directly: a program that links the CUDA runtime would not start without it
// being installed, and this one must.
bool has_gpu(std::string& why_not) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    why_not = "no CUDA driver";
    return false;
  }
  using Init = int (*)(unsigned int);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  if (init == nullptr || count == nullptr || init(0) != 0 || count(&devices) != 0 || devices == 0) {
    why_not = "no CUDA device";
    return false;
  }
  return true;
}

int become(int argc, char** argv) {
  std::string device = "auto";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--device=", 9) == 0) device = argv[i] + 9;
  }
  unsetenv(gpubench::modelled_because);
  std::string program;
  if (device.starts_with("model:")) {
    program = gpubench::half_of_program(Half::model);
  } else if (device == "cuda" || device.starts_with("cuda:")) {
    if (!gpubench::has_half(Half::cuda)) {
      throw gpubench::UsageError(
          "--device=" + device +
          ": the program for GPUs was not built; with CUDA's nvcc installed, "
          "cmake --preset release && cmake --build --preset release builds it");
    }
    program = gpubench::half_of_program(Half::cuda);
  } else {
    // "auto"; anything else is refused by the program itself, with its list of devices.
    std::string why_not;
    bool gpu = has_gpu(why_not);
    if (gpu && device == "auto" && !gpubench::has_half(Half::cuda)) {
      gpu = false;
      why_not = "there is a GPU, but the program for it was not built (no nvcc)";
    }
    if (gpu) {
      program = gpubench::half_of_program(Half::cuda);
    } else {
      program = gpubench::half_of_program(Half::model);
      // The program says it, once it knows that it has something to run.
      if (device == "auto") setenv(gpubench::modelled_because, why_not.c_str(), 1);
    }
  }
  execv(program.c_str(), argv);
  std::cerr << "gpubench: cannot start " << program << ": " << std::strerror(errno) << '\n';
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  gpubench::open_standard_streams();
  return gpubench::exit_code_of([&] { return become(argc, argv); });
}
