// A kernel whose blocks draw their work from a counter, launched on the default stream.
#pragma once

#include <cuda_runtime.h>

namespace gpubench::kernels {

// Copies as many elements at a time as a block has threads, until there are none; `next` is 0.
void draw(float* to, const float* from, unsigned* next, unsigned elements, dim3 grid, dim3 block);

}  // namespace gpubench::kernels
