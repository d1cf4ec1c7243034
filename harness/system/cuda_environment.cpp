#include "harness/system/cuda_environment.hpp"

#include <cstdlib>
#include <string_view>

#include "harness/system/error.hpp"

namespace gpubench {

void ask_for_connections() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

void refuse_blocking_launches() {
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking == nullptr || std::string_view(blocking).empty() ||
      std::string_view(blocking) == "0") {
    return;
  }
  throw UsageError(
      "CUDA_LAUNCH_BLOCKING is set: each launch would wait for its kernel, and nothing could be "
      "queued ahead of time; unset it");
}

}  // namespace gpubench
