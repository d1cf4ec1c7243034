// Products with sums in tensor memory, right and wrong; each kernel launched on the default stream.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

// d = a * b, a of 128 rows and b of 64, both of `tensor_depth` along k, brought by the copy engine
// in turns of one stage. What is wrong: nothing; of the matrices' descriptors the swizzle, the
// stride, or the constant bits; the instruction's types, its signs, or its number of rows; the size
// of the allocation; a second allocation; nothing is given back, or other columns, or before the
// sums have been read; the columns of the product or of the load are not allocated; nobody waits
// for the copies, for the commit, or for the load; a commit by another thread than the products',
// or before the last of them; the next copies are not held back, or let go by an ordinary arrival;
// a warp loads what is another's; or the first product adds to what nobody has written.
enum class TensorSlip {
  none,
  no_swizzle,
  other_swizzle,
  stride,
  constant_bits,
  other_types,
  negated,
  fewer_rows,
  odd_size,
  second_allocation,
  kept,
  other_columns_freed,
  freed_early,
  product_elsewhere,
  load_elsewhere,
  no_wait_for_copies,
  no_wait_for_commit,
  no_wait_for_load,
  other_thread_commits,
  early_commit,
  no_hold,
  early_arrival,
  other_lanes,
  adds_first,
};
inline constexpr unsigned tensor_rows = 128, tensor_columns = 64, tensor_depth = 128;
void multiply_in_tensor_memory(TensorSlip slip, float* d, const __nv_bfloat16* a,
                               const __nv_bfloat16* b);

}  // namespace gpubench::kernels
