// Kernels have clocks where the model's conditions give them one.
#include "harness/platform/device_clocks.hpp"

#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench {

bool device_has_clocks() {
  const model::Runtime* const runtime = model::current_runtime();
  return runtime != nullptr && runtime->pace().has_value();
}

cudaError_t read_clocks(ClockStamp* stamps, unsigned sms, cudaStream_t stream) {
  if (!device_has_clocks()) return cudaErrorNotSupported;
  model::Runtime& runtime = *model::current_runtime();
  return runtime.call("cudaLaunchKernelEx",
                      [&] { return runtime.read_clocks(stamps, sms, stream); });
}

cudaError_t wait_on_device(std::uint64_t cycles, cudaStream_t stream) {
  if (!device_has_clocks()) return cudaErrorNotSupported;
  model::Runtime& runtime = *model::current_runtime();
  return runtime.call("cudaLaunchKernelEx", [&] { return runtime.wait_cycles(cycles, stream); });
}

}  // namespace gpubench
