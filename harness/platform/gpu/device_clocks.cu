#include "harness/platform/device_clocks.hpp"

namespace gpubench {
namespace {

__global__ void write_stamps(ClockStamp* stamps, unsigned sms) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm >= sms) return;  // SMs need not be numbered without gaps
  // One after the other: what lies between is a few cycles, of intervals of a million.
  std::uint64_t nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  stamps[sm] = {static_cast<std::uint64_t>(clock64()), nanoseconds};
}

__global__ void wait(std::uint64_t cycles) {
  const auto begin = static_cast<std::uint64_t>(clock64());
  while (static_cast<std::uint64_t>(clock64()) - begin < cycles) {
  }
}

template <class... P, class... A>
cudaError_t launch_one_thread_blocks(void (*kernel)(P...), unsigned blocks, cudaStream_t stream,
                                     A... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(1);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace

bool device_has_clocks() { return true; }

cudaError_t read_clocks(ClockStamp* stamps, unsigned sms, cudaStream_t stream) {
  return launch_one_thread_blocks(write_stamps, sms, stream, stamps, sms);
}

cudaError_t wait_on_device(std::uint64_t cycles, cudaStream_t stream) {
  return launch_one_thread_blocks(wait, 1, stream, cycles);
}

}  // namespace gpubench
