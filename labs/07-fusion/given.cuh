// The point-wise functions of lab 07, as they are: for the solution and for the checker.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// GELU in its tanh form (Hendrycks and Gimpel, 2016).
__host__ __device__ inline float gelu(float v) {
  return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

// Dropout of half of the elements: 2 for those that are kept, else 0; a function of the seed and
// the element, so that nothing has to be remembered for the backward pass.
__host__ __device__ inline float keep(unsigned seed, unsigned i) {
  unsigned h = i * 0x9e3779b9u ^ seed;
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  h ^= h >> 16;
  return h & 1 ? 2.0f : 0.0f;
}
