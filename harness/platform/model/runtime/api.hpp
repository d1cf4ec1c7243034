// What every function of CUDA's API does: it finds the runtime, and says there what it is called.
#pragma once

#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {

template <class F>
cudaError_t call(const char* function, F&& body) {
  Runtime* const runtime = current_runtime();
  if (runtime == nullptr) return cudaErrorNoDevice;
  return runtime->call(function, [&] { return body(*runtime); });
}

}  // namespace gpubench::model
