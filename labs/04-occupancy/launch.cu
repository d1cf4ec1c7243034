// Launches the kernel of the solution: the one file that is compiled anew for each check.
#include LAB_SOLUTION

#include "harness/gpu/launch.hpp"
#include "labs/04-occupancy/interface.cuh"

void lab::solve(const float* in, float* out, unsigned n, cudaStream_t stream) {
  const unsigned words_a_block = threads * words_a_thread;
  gpubench::launch(copy, (n + words_a_block - 1) / words_a_block, threads, shared_bytes, stream, in,
                   out, n);
}
