// The kernels that the emulator's own speed is measured with, launched on the default stream.
#pragma once

namespace gpubench::rate {

// `elements` is a multiple of 256, `size` of 32.
void copy(float* to, const float* from, unsigned elements);
void copy_strided(float* to, const float* from, unsigned elements, unsigned stride);
void transpose(float* to, const float* from, unsigned size);
void reduce(float* sums, const float* from, unsigned elements);
void multiply(float* c, const float* a, const float* b, unsigned size);
// 256 threads a block meet at a barrier `times` times.
void meet(float* out, unsigned blocks, unsigned times);

}  // namespace gpubench::rate
