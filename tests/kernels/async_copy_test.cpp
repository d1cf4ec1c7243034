#include <cooperative_groups.h>

#include "cluster.hpp"
#include "tests/kernels/async_copy_runs.hpp"

namespace gpubench {
namespace {

using namespace async_copy;

class AsyncCopyKernels : public AsyncCopyRuns {};

// Each block copies its piece of `in`, meets as the cluster that it is by itself if its number is
// even, and then all blocks meet. out[block]: its piece, its rank and how many blocks its cluster
// has.
struct OfBlock {
  float piece[4];
  unsigned rank, blocks;
};
constexpr unsigned of_block_bytes = sizeof(float4) + sizeof(Mbarrier);

__global__ void copy_side_by_side(const float4* in, OfBlock* out) {
  auto* const shared = static_cast<unsigned char*>(dynamic_shared());
  auto* const brought = reinterpret_cast<Mbarrier*>(shared + sizeof(float4));
  if (threadIdx.x == 0) mbarrier_init(brought);
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_expect(brought, sizeof(float4));
    bulk_copy(shared, in + blockIdx.x, sizeof(float4), brought);
  }
  mbarrier_wait(brought, 0);
  if (blockIdx.x % 2 == 0) cluster_sync();
  cooperative_groups::this_grid().sync();
  if (threadIdx.x < 4) {
    out[blockIdx.x].piece[threadIdx.x] = reinterpret_cast<const float*>(shared)[threadIdx.x];
  }
  if (threadIdx.x == 0) {
    out[blockIdx.x].rank = cluster_rank();
    out[blockIdx.x].blocks = cluster_blocks();
  }
}

TEST_F(AsyncCopyKernels, EveryWayOfCopyingBringsTheSame) {
  sums_by(plain<1>, 1, 1);
  sums_by(plain<8>, 8, 1);
  for (const unsigned vectors : {1u, 8u}) {
    sums_by(cp_async<2>, vectors, 2, vectors);
    sums_by(cp_async<3>, vectors, 3, vectors);
    sums_by(cp_async<4>, vectors, 4, vectors);
  }
}

TEST_F(AsyncCopyKernels, BulkCopiesBringTheSame) {
  if (const std::string why = too_old_for({9, 0}); !why.empty()) GTEST_SKIP() << why;
  for (unsigned stages = 2; stages <= most_stages; stages += 3) {
    sums_by(bulk, 8, stages, 8u, stages);
  }
}

TEST_F(AsyncCopyKernels, ABlockOfACooperativeGridCopiesToItself) {
  if (const std::string why = too_old_for({9, 0}); !why.empty()) GTEST_SKIP() << why;
  constexpr unsigned grid = 40;
  const auto in = input<float>(4 * grid);
  const DeviceBuffer<OfBlock> out(grid);
  launch_cooperative(copy_side_by_side, grid, 32, of_block_bytes, nullptr,
                     reinterpret_cast<const float4*>(in.data()), out.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  const auto got = out.download();
  for (unsigned b = 0; b < grid; ++b) {
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(got[b].piece[i], values<float>(4 * b + i)) << b;
    EXPECT_EQ(got[b].rank, 0u) << b;
    EXPECT_EQ(got[b].blocks, 1u) << b;
  }
}

}  // namespace
}  // namespace gpubench
