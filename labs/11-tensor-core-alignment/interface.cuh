// What the checker launches: unit.cu takes it from the solution.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace lab {

inline constexpr unsigned side = 32;      // of a block's tile of the result
inline constexpr unsigned threads = 128;  // of a block: four warps

// d[m][n] = sum over k of a[m][k] * b[n][k]; rows of a and b have `k` elements.
using Ragged = void(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d, unsigned m,
                    unsigned n, unsigned k);
// The same of padded matrices: rows have `stride` elements, and there are whole tiles of rows.
using Padded = void(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d, unsigned m,
                    unsigned n, unsigned stride);
// A padded copy, `gridDim.x` rows of `stride` elements, of `rows` rows of `columns`.
using Pad = void(const __nv_bfloat16* from, __nv_bfloat16* to, unsigned rows, unsigned columns,
                 unsigned stride);
extern const unsigned row_multiple;
extern Ragged* const multiply_ragged;
extern Pad* const pad;
extern Padded* const multiply_padded;

}  // namespace lab
