// Launches the kernel of the solution: the one file that is compiled anew for each check.
#include LAB_SOLUTION

#include "harness/gpu/launch.hpp"
#include "labs/01-coalescing/interface.cuh"

void lab::solve(float a, const float* x, const float* y, float* out, unsigned n,
                cudaStream_t stream) {
  const unsigned elements_a_block = threads * elements_a_thread;
  gpubench::launch(axpy, (n + elements_a_block - 1) / elements_a_block, threads, 0, stream, a, x, y,
                   out, n);
}
