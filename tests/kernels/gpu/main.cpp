// gpubench-kernel-tests: GoogleTest's own flags, and --device=cuda[:N] as gpubench takes it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "harness/platform/platform.hpp"
#include "harness/system/error.hpp"

namespace {

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string ordinal = "0";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i], device = "--device=cuda";
    if (argument.starts_with(device + ":")) {
      ordinal = argument.substr(device.size() + 1);
    } else if (argument == "--help" || argument == "-h") {  // GoogleTest has written its own
      std::cout << "\n  --device=cuda[:N]\n      The GPU to test (default: the first).\n";
      return 0;
    } else if (argument != device) {
      throw gpubench::UsageError("unknown argument " + argument +
                                 "; known are --device=cuda[:N] and GoogleTest's (--help)");
    }
  }
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  const auto gpu = gpubench::open_platform(ordinal);  // and makes it the current one
  std::cout << "on cuda:" << ordinal << " (" << gpu->device().name() << "), CUDA "
            << gpu->cuda_version() << std::endl;
  return RUN_ALL_TESTS();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const gpubench::UsageError& error) {
    std::cerr << "gpubench-kernel-tests: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "gpubench-kernel-tests: " << error.what() << '\n';
    return 1;
  }
}
