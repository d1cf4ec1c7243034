// A kernel that takes its time, on a GPU as on the model: for tests of what waits for what.
#pragma once

#include <cuda_runtime.h>

#include "harness/cuda/launch.hpp"
#include "kernels/common/fma_step.cuh"

namespace gpubench {

inline constexpr unsigned chain_steps = 40'000;
// Each step waits for the one before: four cycles or more, of a clock below 4 GHz.
inline constexpr double least_chain_seconds = 4.0 * chain_steps / 4e9;

// One thread, which sets *to to `value`, but not at once.
[[maybe_unused]] static __global__ void set_late(int* to, int value, float seed) {
  float x = seed;
  for (unsigned s = 0; s < chain_steps; ++s) x = fma_step(x);
  *to = x > 1e9f ? -1 : value;  // it never grows so far
}

inline void launch_set_late(cudaStream_t stream, int* to, int value) {
  launch(set_late, 1, 1, 0, stream, to, value, 0.25f);
}

}  // namespace gpubench
