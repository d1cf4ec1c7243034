// Launches the kernel of the solution: the one file that is compiled anew for each check.
#include LAB_SOLUTION

#include "harness/gpu/launch.hpp"
#include "labs/09-online-softmax/interface.cuh"

void lab::solve(const float* in, float* out, unsigned rows, unsigned columns, float scale,
                cudaStream_t stream) {
  gpubench::launch(softmax, rows, threads, 0, stream, in, out, columns, scale);
}
