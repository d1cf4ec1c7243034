// What a tensor map of the model's driver holds, in the words that CUDA calls opaque.
#pragma once

#include <cstdint>

#include "harness/platform/model/include/cuda.h"

namespace gpubench::model {

struct TensorMap {
  std::uint64_t address = 0;  // of the matrix
  std::uint64_t rows = 0, columns = 0, row_bytes = 0;
  std::uint32_t element_bytes = 0;
  std::uint32_t box_rows = 0, box_columns = 0;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  std::uint64_t mark = 0;  // `made`, once encoded

  static constexpr std::uint64_t made = 0x70616d726f736e65;
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

// cuTensorMapEncodeTiled, of matrices, with the driver's own rules (cuda.h); of what the model does
// not know it says CUDA_ERROR_NOT_SUPPORTED.
CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                           void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                           const cuuint32_t* box, const cuuint32_t* steps,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

}  // namespace gpubench::model
