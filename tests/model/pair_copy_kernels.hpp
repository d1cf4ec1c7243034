// Products of a pair of blocks whose matrices the copy engine brings, right and wrong; launched on
// the default stream.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

// d = a * b, a of 256 rows and b of 64, both of `copied_depth` along k, in turns of one stage that
// both blocks bring; then a product that replaces the sums. What is wrong: nothing; there is no
// cluster; nobody waits for the copies; those of the odd block arrive there; its next copies are
// not held back; or the sums are replaced before any warp says that it has read its own, or the odd
// block's say so before they have.
enum class PairCopySlip {
  none,
  no_cluster,
  no_wait,
  arrives_at_home,
  no_hold,
  early_product,
  early_arrival,
};
inline constexpr unsigned copied_rows = 256, copied_columns = 64, copied_depth = 128;
void multiply_copies_in_pair(PairCopySlip slip, float* d, const __nv_bfloat16* a,
                             const __nv_bfloat16* b);

}  // namespace gpubench::kernels
