// What every function of CUDA's API does: it finds the runtime, and says there what it is called.
#pragma once

#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {

// Inlined, so that what it returns to is what the function of the API returns to.
template <class F>
[[gnu::always_inline]] inline cudaError_t call(const char* function, F&& body) {
  Runtime* const runtime = current_runtime();
  if (runtime == nullptr) return cudaErrorNoDevice;
  return runtime->call(
      function, [&] { return body(*runtime); }, __builtin_return_address(0));
}

}  // namespace gpubench::model
