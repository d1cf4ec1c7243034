// Launches the kernel of the solution: the one file that is compiled anew for each check.
#include LAB_SOLUTION

#include "harness/gpu/launch.hpp"
#include "labs/05-reduction/interface.cuh"

void lab::solve(const float* in, float* sums, unsigned n, cudaStream_t stream) {
  gpubench::launch(block_sums, (n + words_a_block - 1) / words_a_block, threads, 0, stream, in,
                   sums, n);
}
