#include "harness/platform/spin_gate.hpp"

namespace gpubench {
namespace {

__device__ unsigned long long nanoseconds_now() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(const volatile std::uint32_t* flag, std::uint32_t ticket,
                     unsigned long long timeout_nanoseconds) {
  const unsigned long long start = nanoseconds_now();
  while (static_cast<std::int32_t>(*flag - ticket) < 0) {
    if (nanoseconds_now() - start > timeout_nanoseconds) return;
  }
}

}  // namespace

cudaError_t launch_spin_gate(const std::uint32_t* flag, std::uint32_t ticket,
                             double timeout_seconds, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, spin, flag, ticket,
                            static_cast<unsigned long long>(timeout_seconds * 1e9));
}

}  // namespace gpubench
