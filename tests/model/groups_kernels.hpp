// Kernels of cooperative groups, each launched on the default stream. Thread i writes out[i].
#pragma once

#include <cuda_runtime.h>

namespace gpubench::kernels {

struct GroupRanks {
  unsigned block_rank, block_size, tile_rank, tile_size, tile, tiles, inner_tile, inner_tiles;
  unsigned long long grid_rank, grid_size;
};
void rank_groups(GroupRanks* out, dim3 grid, dim3 block);  // tiles of 8, in them tiles of 4

struct TileExchanges {
  unsigned first, up, down, exchanged, votes;
  int any, all;
};
void exchange_in_tiles(unsigned size, TileExchanges* out);  // one block of 64; size 4, 16 or 32

// The lower half of a warp: the sum of its lanes' numbers, by shuffles down that reach into the
// upper half, which has not ended; and what comes from eight lanes on.
void sum_of_half(unsigned* sum, unsigned* out);

struct TileReductions {
  float sum;
  int least, greatest, both, either, odd;
};
void reduce_in_tiles(unsigned size, TileReductions* out, const int* in);  // one block of 64

// Reversed with a barrier between.
void reverse_by_block(unsigned* out);  // one block of 64, through shared memory
// All threads of a grid of blocks of 64, through global memory; by a launch that is not
// cooperative, and by one that is.
void reverse_by_grid(unsigned* stage, unsigned* out, dim3 grid);
void reverse_by_meeting_grid(unsigned* stage, unsigned* out, dim3 grid);
extern const int grid_barrier_line;

// By cooperative launches of blocks of 64. Each block meets as the cluster that it is by itself,
// the first one alone twice, and then the grid; out[2 * block], out[2 * block + 1]: its rank in the
// cluster, and how many blocks that has.
void meet_by_block_and_grid(unsigned* out, unsigned blocks);
// Each block keeps a number in a static shared variable.
void keep_in_static_shared(unsigned* out, unsigned blocks);

}  // namespace gpubench::kernels
