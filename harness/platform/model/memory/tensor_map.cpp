#include "harness/platform/model/memory/tensor_map.hpp"

#include <cstring>

namespace gpubench::model {

CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                           void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                           const cuuint32_t* box, const cuuint32_t* steps,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion /*of no consequence here*/,
                           CUtensorMapFloatOOBfill fill) {
  constexpr cuuint64_t element_bytes = 2, piece_bytes = 16;
  constexpr cuuint64_t most_elements = cuuint64_t{1} << 32, most_stride = cuuint64_t{1} << 40;
  constexpr cuuint32_t largest_box = 256;
  if (map == nullptr || address == nullptr || sizes == nullptr || strides == nullptr ||
      box == nullptr || steps == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (type != CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 || rank != 2 || steps[0] != 1 || steps[1] != 1 ||
      interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0 || at % piece_bytes != 0 ||
      strides[0] % piece_bytes != 0 || strides[0] >= most_stride) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (int i = 0; i < 2; ++i) {
    if (sizes[i] == 0 || sizes[i] > most_elements || box[i] == 0 || box[i] > largest_box) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  const cuuint64_t inner = box[0] * element_bytes;
  const cuuint64_t span = swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? inner : cuuint64_t{16} << swizzle;
  if (inner % piece_bytes != 0 || inner > span) return CUDA_ERROR_INVALID_VALUE;
  const TensorMap made{at,     sizes[1], sizes[0], strides[0],     element_bytes,
                       box[1], box[0],   swizzle,  TensorMap::made};
  *map = {};
  std::memcpy(map->opaque, &made, sizeof made);
  return CUDA_SUCCESS;
}

}  // namespace gpubench::model
