#include "tests/model/groups_kernels.hpp"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "cluster.hpp"
#include "harness/cuda/launch.hpp"

namespace gpubench::kernels {
namespace {

namespace cg = cooperative_groups;

__global__ void rank_kernel(GroupRanks* out) {
  const auto block = cg::this_thread_block();
  const auto grid = cg::this_grid();
  const auto tile = cg::tiled_partition<8>(block);
  const auto inner = cg::tiled_partition<4>(tile);
  out[grid.thread_rank()] = {block.thread_rank(),     block.size(),
                             tile.thread_rank(),      tile.size(),
                             tile.meta_group_rank(),  tile.meta_group_size(),
                             inner.meta_group_rank(), inner.meta_group_size(),
                             grid.thread_rank(),      grid.size()};
}

template <unsigned size>
__global__ void exchange_kernel(TileExchanges* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<size>(block);
  const unsigned me = block.thread_rank();
  TileExchanges result{};
  result.first = tile.shfl(me, 0);
  result.up = tile.shfl_up(me, 1);
  result.down = tile.shfl_down(me, 1);
  result.exchanged = tile.shfl_xor(me, 1);
  result.votes = tile.ballot(me % 3 == 0);
  result.any = tile.any(me == 5);
  result.all = tile.all(me >= 32);
  tile.sync();
  out[me] = result;
}

template <unsigned size>
__global__ void reduce_kernel(TileReductions* out, const int* in) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<size>(block);
  const int value = in[block.thread_rank()];
  TileReductions result{};
  result.sum = cg::reduce(tile, static_cast<float>(value), cg::plus<float>());
  result.least = cg::reduce(tile, value, cg::less<int>());
  result.greatest = cg::reduce(tile, value, cg::greater<int>());
  result.both = cg::reduce(tile, value, cg::bit_and<int>());
  result.either = cg::reduce(tile, value, cg::bit_or<int>());
  result.odd = cg::reduce(tile, value, cg::bit_xor<int>());
  out[block.thread_rank()] = result;
}

__global__ void reverse_by_block_kernel(unsigned* out) {
  __shared__ unsigned stage[64];
  const auto block = cg::this_thread_block();
  stage[block.thread_rank()] = block.thread_rank();
  cg::sync(block);
  out[block.thread_rank()] = stage[63 - block.thread_rank()];
}

constexpr int sync_line = __LINE__ + 5;
__global__ void reverse_by_grid_kernel(unsigned* stage, unsigned* out) {
  const auto grid = cg::this_grid();
  const auto me = static_cast<unsigned>(grid.thread_rank());
  stage[me] = me;
  grid.sync();
  out[me] = stage[static_cast<unsigned>(grid.size()) - 1 - me];
}

__global__ void meet_by_block_and_grid_kernel(unsigned* out) {
  cluster_sync();
  if (blockIdx.x == 0) cluster_sync();
  cg::this_grid().sync();
  if (threadIdx.x > 0) return;
  out[2 * blockIdx.x] = cluster_rank();
  out[2 * blockIdx.x + 1] = cluster_blocks();
}

__global__ void keep_in_static_shared_kernel(unsigned* out) {
  __shared__ unsigned kept;
  if (threadIdx.x == 0) kept = blockIdx.x;
  cg::this_grid().sync();
  if (threadIdx.x == 0) out[blockIdx.x] = kept;
}

template <class Body>
void with_size(unsigned size, Body&& body) {
  if (size == 4) body.template operator()<4>();
  if (size == 16) body.template operator()<16>();
  if (size == 32) body.template operator()<32>();
}

__global__ void sum_of_half_kernel(unsigned* sum, unsigned* out) {
  const unsigned lane = threadIdx.x;
  if (lane < 16) {
    unsigned mine = lane;
    out[lane] = __shfl_down_sync(0xffffu, mine, 8);
    for (unsigned by = 8; by > 0; by /= 2) mine += __shfl_down_sync(0xffffu, mine, by);
    if (lane == 0) *sum = mine;
  }
  __syncwarp();
}

}  // namespace

const int grid_barrier_line = sync_line;

void rank_groups(GroupRanks* out, dim3 grid, dim3 block) {
  launch(rank_kernel, grid, block, 0, nullptr, out);
}
void exchange_in_tiles(unsigned size, TileExchanges* out) {
  with_size(size, [&]<unsigned n>() { launch(exchange_kernel<n>, 1, 64, 0, nullptr, out); });
}
void sum_of_half(unsigned* sum, unsigned* out) {
  launch(sum_of_half_kernel, 1, 32, 0, nullptr, sum, out);
}
void reduce_in_tiles(unsigned size, TileReductions* out, const int* in) {
  with_size(size, [&]<unsigned n>() { launch(reduce_kernel<n>, 1, 64, 0, nullptr, out, in); });
}
void reverse_by_block(unsigned* out) { launch(reverse_by_block_kernel, 1, 64, 0, nullptr, out); }
void reverse_by_grid(unsigned* stage, unsigned* out, dim3 grid) {
  launch(reverse_by_grid_kernel, grid, 64, 0, nullptr, stage, out);
}
void reverse_by_meeting_grid(unsigned* stage, unsigned* out, dim3 grid) {
  launch_cooperative(reverse_by_grid_kernel, grid, 64, 0, nullptr, stage, out);
}
void meet_by_block_and_grid(unsigned* out, unsigned blocks) {
  launch_cooperative(meet_by_block_and_grid_kernel, blocks, 64, 0, nullptr, out);
}
void keep_in_static_shared(unsigned* out, unsigned blocks) {
  launch_cooperative(keep_in_static_shared_kernel, blocks, 64, 0, nullptr, out);
}

}  // namespace gpubench::kernels
