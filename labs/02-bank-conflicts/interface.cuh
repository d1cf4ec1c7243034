// What the checker launches: unit.cu takes it from the solution.
#pragma once

#include <cuda_runtime.h>

namespace lab {

inline constexpr unsigned side = 32;         // of a tile, in elements
inline constexpr unsigned rows_at_once = 8;  // of a block's threads

// out (columns x rows) becomes the transpose of in (rows x columns, row after row), by the
// solution's padded or swizzled kernel.
using Kernel = void(const float* in, float* out, unsigned rows, unsigned columns);
extern Kernel *const transpose_padded, *const transpose_swizzled;

}  // namespace lab
