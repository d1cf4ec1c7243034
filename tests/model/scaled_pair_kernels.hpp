// Products in tensor memory with block scales, of one block and of a pair, and mistakes in those of
// a pair; each kernel launched on the default stream.
#pragma once

#include "tcgen05_descriptor.hpp"

namespace gpubench::kernels {

enum class ScaledPairSlip {
  none,
  no_cluster,
  copy_of_one,           // of the even block alone
  product_of_one,        // likewise
  odd_block_copies,      // for the even one, which multiplies
  copy_elsewhere,        // beyond the columns that are allocated
  copy_from_beyond,      // shared memory's end
  no_copy,               // of b's scales
  scales_elsewhere,      // beyond the columns that are allocated
  other_scales,          // which the instruction descriptor says are not powers of two
  half_the_rows,         // 128, as of one block
  other_warp_copies,     // and nobody waits for that
  no_meeting_before,     // the copies
  no_meeting_after,      // the products
  stores_early,          // new scales, before the cluster has met
  other_rows_of_scales,  // of a: those of the even block in both
  half_of_bs_scales,     // in each block those of its own columns of b alone
};
inline constexpr unsigned scaled_pair_rows = 256, scaled_pair_columns = 96;
// Products of 32 bytes along k, which add up.
inline constexpr unsigned scaled_pair_steps = 2;

// A matrix whose rows lie along k: of each row eight words of elements per step, and one of scales.
struct ScaledRows {
  const unsigned *elements, *scales;
};
// d = a * b, by a pair of blocks, or by each block for half of the rows.
void multiply_scaled_in_pair(Tcgen05Type type, ScaledPairSlip slip, float* d, ScaledRows a,
                             ScaledRows b);
void multiply_scaled_in_blocks(Tcgen05Type type, float* d, ScaledRows a, ScaledRows b);

}  // namespace gpubench::kernels
