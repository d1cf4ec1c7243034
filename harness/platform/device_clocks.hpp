// What a device's own clocks say, asked from inside a kernel, and a wait on the device itself.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gpubench {

// One SM's two clocks at one moment: cycles of its own, and the time that all SMs share.
struct ClockStamp {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;  // 0: this SM has not written
};

// Whether kernels have clocks: on every GPU; on the model only where its conditions give it one.
// The two below need it.
bool device_has_clocks();

// Queues a kernel of a block for each of `sms` SMs; each writes the stamp of the SM that it runs on
// to stamps[its number], in mapped host memory as the device addresses it.
cudaError_t read_clocks(ClockStamp* stamps, unsigned sms, cudaStream_t stream);

// Queues a kernel of one thread that takes so many of its SM's cycles.
cudaError_t wait_on_device(std::uint64_t cycles, cudaStream_t stream);

}  // namespace gpubench
