// The multiply-add that chains are made of: it turns a value over without letting it grow, or
// forget where it began, so that no compiler can shorten a chain and no chain overflows.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

__host__ __device__ inline float fma_step(float x) { return fmaf(x, -0.9990234375f, 0.5f); }
__host__ __device__ inline double fma_step(double x) { return fma(x, -0.9990234375, 0.5); }
