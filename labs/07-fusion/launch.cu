// Launches the kernel of the solution: the one file that is compiled anew for each check.
#include "labs/07-fusion/given.cuh"
#include LAB_SOLUTION

#include "harness/gpu/launch.hpp"
#include "labs/07-fusion/interface.cuh"

void lab::solve(const float* x, const float* bias, const float* residual, float* out,
                unsigned columns, unsigned n, unsigned seed, cudaStream_t stream) {
  const unsigned words_a_block = threads * words_a_thread;
  gpubench::launch(fused, (n + words_a_block - 1) / words_a_block, threads, 0, stream, x, bias,
                   residual, out, columns, n, seed);
}
