// Products whose a lies in tensor memory, where warps store it, right and wrong; launched on the
// default stream.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

// d = 3 * a * b, a of 128 rows along k, b of 64 columns across it: warps store a into tensor
// memory, a thread multiplies, the warps double the sums, and the thread multiplies once more and
// adds. What is wrong: nothing; nobody waits for the stores, or for the warps that make them; there
// is no fence before the warps' arrival, behind the wait for it, or behind the one for the commit;
// a warp stores to another's lanes; the columns of a store or of the factor are not allocated, or
// of the factor nobody has written; sums are stored before they have been loaded, or loaded before
// they have been stored; a is stored anew behind a commit before its last products; the product
// names another lane for a; b's stride is wrong, or b of tf32 lies across k.
enum class OperandSlip {
  none,
  no_wait_for_store,
  no_wait_for_warps,
  no_fence_before,
  no_fence_after_warps,
  no_fence_after_commit,
  other_lanes,
  store_elsewhere,
  factor_elsewhere,
  unwritten_factor,
  store_before_load,
  load_before_store,
  early_commit,
  lane_of_factor,
  stride,
  across_of_tf32,
};
inline constexpr unsigned operand_rows = 128, operand_columns = 64, operand_depth = 64;
// b: [operand_depth][operand_columns].
void multiply_from_tensor_memory(OperandSlip slip, float* d, const __nv_bfloat16* a,
                                 const __nv_bfloat16* b);

}  // namespace gpubench::kernels
