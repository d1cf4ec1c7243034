// Kernels that touch known bytes, each of one block in a given stream.
#pragma once

#include <cuda_runtime.h>

namespace gpubench::kernels {

void fill(float* to, unsigned n, float value, cudaStream_t stream);
void fill_every_other(float* to, unsigned n, float value, cudaStream_t stream);
void copy(float* to, const float* from, unsigned n, cudaStream_t stream);
void count(unsigned* counter, cudaStream_t stream);  // atomically

}  // namespace gpubench::kernels
