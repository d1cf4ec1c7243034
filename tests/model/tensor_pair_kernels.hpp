// Products in tensor memory of a pair of blocks, right and wrong; each kernel launched on the
// default stream.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

// d = a * b, a of 256 rows and b of 64, both of `pair_depth` along k. What is wrong: nothing; no
// cluster; one block alone allocates, or another number of columns, or gives nothing back; the odd
// block asks for the products; the product or the allocation is that of one block; half the rows;
// columns that a pair cannot share; the commit arrives in one block, beyond the pair, in none, or
// at what is no mbarrier there; the cluster does not meet before the products, or after them; the
// odd block does not wait for the commit; it stores anew before the cluster has met; the blocks
// allocate before that; no fence follows the initialisation of the mbarriers; or they are waited
// for as one block's own.
enum class PairSlip {
  none,
  no_cluster,
  one_allocates,
  other_size,
  one_keeps,
  odd_block_asks,
  product_of_one,
  allocation_of_one,
  half_the_rows,
  odd_columns,
  commit_to_one,
  commit_beyond,
  commit_to_none,
  commit_elsewhere,
  no_meeting_before,
  no_meeting_after,
  no_wait_for_commit,
  stores_early,
  early_allocation,
  no_fence,
  wait_of_one,
};
inline constexpr unsigned pair_rows = 256, pair_columns = 64, pair_depth = 128;
void multiply_in_pair(PairSlip slip, float* d, const __nv_bfloat16* a, const __nv_bfloat16* b);

}  // namespace gpubench::kernels
