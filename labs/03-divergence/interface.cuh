// What the checker launches: unit.cu takes it from the solution.
#pragma once

#include <cuda_runtime.h>

namespace lab {

inline constexpr unsigned threads = 256;
inline constexpr unsigned elements_a_block = 1024;

// mixed: out[i] = work(i % 4, in[i]). sparse: out[i] = needs_work(in[i]) ? work(0, in[i]) : in[i].
// Both for all i < n.
using Kernel = void(const float* in, float* out, unsigned n);
extern Kernel *const mixed, *const sparse;

}  // namespace lab
