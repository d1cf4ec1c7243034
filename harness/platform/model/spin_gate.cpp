// Spinning lanes would keep a host thread busy for ever; the model's driver has stream memory
// operations instead.
#include "harness/platform/spin_gate.hpp"

namespace gpubench {

cudaError_t launch_spin_gate(const std::uint32_t*, std::uint32_t, double, cudaStream_t) {
  return cudaErrorNotSupported;
}

}  // namespace gpubench
