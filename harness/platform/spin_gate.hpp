// The gate for devices whose driver has no stream memory operations.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gpubench {

// Queues a kernel of one thread that runs until *flag reaches `ticket` (or has passed it) or until
// `timeout_seconds` have gone by. `flag` is mapped host memory as the device addresses it.
// cudaErrorNotSupported where there is no such kernel: on the model it would hang a host thread.
cudaError_t launch_spin_gate(const std::uint32_t* flag, std::uint32_t ticket,
                             double timeout_seconds, cudaStream_t stream);

}  // namespace gpubench
