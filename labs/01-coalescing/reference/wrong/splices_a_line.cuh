// expect: policy backslash
// Assembly over two lines.
#pragma once
#include <cuda_runtime.h>

// clang-format off
static __global__ void axpy(float, const float*, const float*, float*, unsigned) {
  a\
sm volatile("nop");
}
