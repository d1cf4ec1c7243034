// Descriptions of matrices for the copy engine (TMA), which brings boxes of them.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "harness/cuda/check.hpp"

namespace gpubench {

// A matrix of bfloat16, `rows` of `columns` elements, `ld` elements apart (a multiple of 8), from
// `base` on, which lies on 16 bytes. A box is box_rows rows of box_columns elements (up to 256
// each). Elements beyond an edge come as zeros. CudaError where there is no such engine.
inline CUtensorMap tensor_map(const void* base, std::size_t rows, std::size_t columns,
                              std::size_t ld, unsigned box_rows, unsigned box_columns,
                              CUtensorMapSwizzle swizzle) {
  using Encode =
      CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                   const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                   CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  constexpr unsigned since = 12000;  // CUDA 12.0, the first to have it
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, since,
                                              cudaEnableDefault, &found));
  if (function == nullptr) CUDA_CHECK(cudaErrorNotSupported);
  CUtensorMap map;
  // The innermost dimension first.
  const cuuint64_t sizes[] = {columns, rows}, strides[] = {ld * 2};
  const cuuint32_t box[] = {box_columns, box_rows}, steps[] = {1, 1};
  const CUresult result = reinterpret_cast<Encode>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(base), sizes, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) CUDA_CHECK(cudaErrorInvalidValue);
  return map;
}
// In boxes of rows of 64 elements, that is of 128 bytes, which are swizzled in shared memory.
inline CUtensorMap tensor_map(const void* base, std::size_t rows, std::size_t columns,
                              std::size_t ld, unsigned box_rows) {
  return tensor_map(base, rows, columns, ld, box_rows, 64, CU_TENSOR_MAP_SWIZZLE_128B);
}

}  // namespace gpubench
