// Kernels whose blocks run together in clusters, and some with one mistake each.
#pragma once

#include <cuda_runtime.h>

#include <span>

namespace gpubench::kernels {

// out[2 * block], out[2 * block + 1]: its rank, and how many blocks are in its cluster.
void rank_blocks(unsigned cluster, unsigned blocks, unsigned* out);
// Blocks of 64 threads: each leaves its index in its shared memory, and out[block * 64 + thread] is
// what the thread has found in the next block's.
void ask_next_block(unsigned cluster, unsigned blocks, unsigned* out);
// Every thread of every block adds one to a word of the cluster's first block, and stores its index
// to one of the last; out[2 * cluster], out[2 * cluster + 1]: the first word, and the sum of those.
void give_to_blocks(unsigned cluster, unsigned blocks, unsigned* out);
// Thread 0 of block 0 follows a ring of `steps` offsets through block 1's shared memory.
void chase_next_block(unsigned steps, unsigned* out);
// Each block ends after as many barriers of the cluster as its rank says.
void leave_one_by_one(unsigned cluster, unsigned* out);

struct ClusterMistake {
  const char* name;
  void (*launch)(unsigned* out, bool fixed);  // two blocks; `fixed`: without the mistake
  const char* says;                           // part of the diagnostic
};
std::span<const ClusterMistake> cluster_mistakes();

// What cudaLaunchKernelEx says of a launch in clusters of (x, y, 1), of a kernel that may have
// large ones.
cudaError_t launch_in_clusters(unsigned x, unsigned y, unsigned blocks, bool large, unsigned* out);

}  // namespace gpubench::kernels
