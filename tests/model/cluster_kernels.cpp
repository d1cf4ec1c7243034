#include "tests/model/cluster_kernels.hpp"

#include "cluster.hpp"
#include "dynamic_shared.hpp"
#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

constexpr unsigned threads = 64;

__device__ unsigned* shared_words() { return static_cast<unsigned*>(dynamic_shared()); }

__device__ unsigned me() { return blockIdx.x * threads + threadIdx.x; }

__global__ void rank_kernel(unsigned* out) {
  if (threadIdx.x > 0) return;
  out[2 * blockIdx.x] = cluster_rank();
  out[2 * blockIdx.x + 1] = cluster_blocks();
}

__global__ void ask_kernel(unsigned* out) {
  unsigned* const own = shared_words();
  own[threadIdx.x] = blockIdx.x * threads + threadIdx.x;
  cluster_sync();
  const unsigned rank = cluster_rank();
  const unsigned* const next = shared_of(own, rank + 1 < cluster_blocks() ? rank + 1 : 0);
  out[me()] = next[threadIdx.x];
  cluster_sync();
}

__global__ void give_kernel(unsigned* out) {
  unsigned* const own = shared_words();
  const unsigned blocks = cluster_blocks(), rank = cluster_rank();
  for (unsigned i = threadIdx.x; i < 1 + blocks * threads; i += threads) own[i] = 0;
  cluster_sync();
  atomicAdd(shared_of(own, 0), 1u);
  shared_of(own, blocks - 1)[1 + rank * threads + threadIdx.x] = rank * threads + threadIdx.x;
  cluster_sync();
  if (threadIdx.x > 0) return;
  unsigned* const mine = out + blockIdx.x / blocks * 2;
  if (rank == 0) mine[0] = own[0];
  if (rank + 1 < blocks) return;
  unsigned sum = 0;
  for (unsigned i = 0; i < blocks * threads; ++i) sum += own[1 + i];
  mine[1] = sum;
}

__global__ void chase_kernel(unsigned steps, unsigned* out) {
  unsigned* const own = shared_words();
  for (unsigned i = threadIdx.x; i < 256; i += threads) own[i] = (4 * i + 4 * 97) % 1024;
  cluster_sync();
  if (cluster_rank() == 0 && threadIdx.x == 0) {
    const auto* const next = reinterpret_cast<const char*>(shared_of(own, 1));
    unsigned at = 0;
    for (unsigned s = 0; s < steps; ++s) at = *reinterpret_cast<const unsigned*>(next + at);
    *out = at;
  }
  cluster_sync();
}

__global__ void leave_kernel(unsigned* out) {
  for (unsigned i = 0; i < cluster_rank(); ++i) cluster_sync();
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
}

// --- with a mistake each, unless `fixed` ---

__global__ void unordered(unsigned* out, bool fixed) {
  unsigned* const own = shared_words();
  own[threadIdx.x] = 1;
  cluster_sync();
  const unsigned seen = shared_of(own, 1 - cluster_rank())[threadIdx.x];
  if (fixed) cluster_sync();
  own[threadIdx.x] = 2;
  out[me()] = seen;
  cluster_sync();
}

__global__ void too_early(unsigned* out, bool fixed) {
  unsigned* const own = shared_words();
  if (fixed) cluster_sync();
  shared_of(own, 1 - cluster_rank())[threadIdx.x] = 1;
  cluster_sync();
  out[me()] = own[threadIdx.x];
}

__global__ void left_alone(unsigned* out, bool fixed) {
  unsigned* const own = shared_words();
  own[threadIdx.x] = 1;
  cluster_sync();
  if (cluster_rank() == 0) out[threadIdx.x] = shared_of(own, 1)[threadIdx.x];
  if (fixed) cluster_sync();
}

__global__ void never_written(unsigned* out, bool fixed) {
  unsigned* const own = shared_words();
  if (fixed || cluster_rank() == 0) own[threadIdx.x] = 1;
  cluster_sync();
  if (cluster_rank() == 0) out[threadIdx.x] = shared_of(own, 1)[threadIdx.x];
  cluster_sync();
}

__global__ void beyond(unsigned* out, bool fixed) {
  unsigned* const own = shared_words();
  own[threadIdx.x] = 1;
  cluster_sync();
  if (cluster_rank() == 0) out[threadIdx.x] = shared_of(own, 1)[threadIdx.x + (fixed ? 0 : 1024)];
  cluster_sync();
}

__global__ void one_word(unsigned* out, bool fixed) {
  unsigned* const own = shared_words();
  cluster_sync();
  // Two threads of one block.
  if (cluster_rank() == 0) *shared_of(own + (fixed ? threadIdx.x : 0), 1) = threadIdx.x;
  cluster_sync();
  out[me()] = 1;
}

__global__ void no_such_block(unsigned* out, bool fixed) {
  unsigned* const own = shared_words();
  own[threadIdx.x] = 1;
  cluster_sync();
  out[me()] = *shared_of(own, fixed ? 1 : 2);
  cluster_sync();
}

__global__ void is_static(unsigned* out, bool fixed) {
  __shared__ unsigned word;
  if (threadIdx.x == 0 && !fixed) word = 1;
  cluster_sync();
  out[me()] = fixed ? 1 : word;
}

__global__ void waits_alone(unsigned* out, bool fixed) {
  if (fixed || cluster_rank() == 0 || threadIdx.x > 0) cluster_sync();
  __syncthreads();
  if (!fixed && threadIdx.x == 0 && cluster_rank() == 1) cluster_sync();
  out[me()] = 1;
}

template <void (*kernel)(unsigned*, bool)>
void pair(unsigned* out, bool fixed) {
  launch_cluster(kernel, 2, 2, threads, 1024, nullptr, out, fixed);
}

}  // namespace

std::span<const ClusterMistake> cluster_mistakes() {
  static const ClusterMistake all[] = {
      {"unordered", &pair<unordered>,
       "race: 4-byte load at bytes 0..3 of dynamic shared memory of block (0,0,0), and a store "
       "there"},
      {"too_early", &pair<too_early>, "which need not have begun before the cluster has met"},
      {"left_alone", &pair<left_alone>, "block (1,0,0) may have ended before the 4-byte load"},
      {"never_written", &pair<never_written>, "not all of which its block has written"},
      {"beyond", &pair<beyond>, "out of bounds: 4-byte load at byte 4096 of 1024"},
      {"one_word", &pair<one_word>, "race: 4-byte store"},
      {"no_such_block", &pair<no_such_block>, "shared memory of block 2 in a cluster of 2"},
      {"is_static", &pair<is_static>, "static shared variable"},
      {"waits_alone", &pair<waits_alone>, "waits for the rest of the cluster"},
  };
  return all;
}

void rank_blocks(unsigned cluster, unsigned blocks, unsigned* out) {
  launch_cluster(rank_kernel, cluster, blocks, threads, 0, nullptr, out);
}
void ask_next_block(unsigned cluster, unsigned blocks, unsigned* out) {
  launch_cluster(ask_kernel, cluster, blocks, threads, threads * sizeof(unsigned), nullptr, out);
}
void give_to_blocks(unsigned cluster, unsigned blocks, unsigned* out) {
  const std::size_t words = 1 + std::size_t{cluster} * threads;
  launch_cluster(give_kernel, cluster, blocks, threads, words * sizeof(unsigned), nullptr, out);
}
void chase_next_block(unsigned steps, unsigned* out) {
  launch_cluster(chase_kernel, 2, 2, threads, 1024, nullptr, steps, out);
}
void leave_one_by_one(unsigned cluster, unsigned* out) {
  launch_cluster(leave_kernel, cluster, cluster, threads, 0, nullptr, out);
}

cudaError_t launch_in_clusters(unsigned x, unsigned y, unsigned blocks, bool large, unsigned* out) {
  const int allowed = large ? 1 : 0;
  CUDA_CHECK(
      cudaFuncSetAttribute(rank_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, allowed));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {x, y, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, rank_kernel, out);
}

}  // namespace gpubench::kernels
