// expect: policy calls exit
// Ends the checker in the hope that no news is good news.
#pragma once
#include <cuda_runtime.h>

extern "C" void exit(int);

static __global__ void axpy(float, const float*, const float*, float*, unsigned) { exit(0); }
