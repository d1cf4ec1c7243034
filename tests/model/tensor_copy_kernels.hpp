// Boxes of matrices in shared memory, and what wgmma makes of them; each kernel launched on the
// default stream.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

// What 16 rows of 64 elements from (row, column) on are in shared memory, byte by byte.
inline constexpr unsigned box_rows = 16, box_bytes = box_rows * 128;
void bring_box(unsigned char* out, const __nv_bfloat16* matrix, unsigned rows, unsigned columns,
               unsigned ld, unsigned row, unsigned column);

// d = a * b by one warpgroup, a of 64 rows and b of 256, both of `product_depth` along k, in two
// turns of one stage. What is wrong: nothing; the descriptors' swizzle, or their stride; nobody
// waits for the copies; a warp says that it is done before it is; the next copies are not held
// back; or one arrival too many.
enum class Slip {
  none,
  no_swizzle,
  other_swizzle,
  stride,
  no_wait,
  early_arrival,
  no_hold,
  second_arrival,
};
inline constexpr unsigned product_rows = 64, product_columns = 256, product_depth = 128;
void multiply_boxes(Slip slip, float* d, const __nv_bfloat16* a, const __nv_bfloat16* b);

}  // namespace gpubench::kernels
