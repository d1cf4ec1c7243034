#include "harness/platform/model/emulator/running.hpp"

#include <csignal>
#include <cstdio>

#include "harness/platform/model/emulator/block_runner.hpp"

namespace gpubench::model {

namespace {

static_assert(FiberStacks::stack_bytes == std::size_t{672} << 10, "the words below say so");

const char* meaning_of(int signal, const void* address) {
  if (signal == SIGFPE) return " (an integer divided by 0, or the least one by -1)";
  if (signal == SIGSEGV && running_block->is_below_stack(address)) {
    return " (local arrays and calls of more than 672 KB per thread)";
  }
  return "";
}

}  // namespace

void describe_running(int signal, const void* address, char* text, std::size_t bytes) {
  if (running_block == nullptr) return;
  std::snprintf(text, bytes, "thread (%u,%u,%u) of block (%u,%u,%u) of %s%s", threadIdx.x,
                threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z,
                running_block->kernel_name(), meaning_of(signal, address));
}

}  // namespace gpubench::model
