// Matrix multiplications by one warp, each kernel launched on the default stream.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace gpubench::kernels {

struct Layouts {
  bool a_by_rows, b_by_rows, d_by_rows;
};
// d = a * b + 1 for a of 16 x depth, b of depth x 16; depth is a multiple of 16 (tf32: 8). All are
// dense in their layouts.
void multiply_by_wmma(Layouts layouts, float* d, const __half* a, const __half* b, unsigned depth);
void multiply_by_wmma(Layouts layouts, float* d, const __nv_bfloat16* a, const __nv_bfloat16* b,
                      unsigned depth);
void multiply_by_wmma(Layouts layouts, float* d, const float* a, const float* b, unsigned depth);
// d = d * 1 + identity: the accumulator is read and written in the given layout.
void add_identity(bool by_rows, float* d, unsigned threads = 32);

// d = a * b + c by one mma.sync: a of 16 rows and d, c of 8 columns by rows, b by columns.
void multiply_by_mma(float* d, const __half* a, const __half* b, const float* c);
void multiply_by_mma(float* d, const __nv_bfloat16* a, const __nv_bfloat16* b, const float* c);
void multiply_by_mma(float* d, const float* a, const float* b, const float* c);  // tf32, depth 8

// What ldmatrix brings one warp of 32 rows of 16 bytes each: four registers per lane, of matrix
// after matrix.
void load_matrices(unsigned* out, const unsigned short* rows, bool transposed,
                   unsigned threads = 32);
// d[i] = a * b[i] by one call: a of 16 x 16 by rows, three b of 16 x 8 by columns.
void multiply_three(float* d, const __nv_bfloat16* a, const __nv_bfloat16* b);

void round_to_tf32(float* out, const float* in);  // one warp

}  // namespace gpubench::kernels
