#include "harness/platform/model/emulator/running.hpp"

#include <cstdio>

#include "harness/platform/model/emulator/block_runner.hpp"

namespace gpubench::model {

void describe_running(char* text, std::size_t bytes) {
  if (running_block == nullptr) return;
  std::snprintf(text, bytes, "thread (%u,%u,%u) of block (%u,%u,%u) of %s", threadIdx.x,
                threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z,
                running_block->kernel_name());
}

}  // namespace gpubench::model
