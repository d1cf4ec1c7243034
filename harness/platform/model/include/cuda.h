// The driver types of stream memory operations and of tensor maps. The functions themselves come
// from cudaGetDriverEntryPointByVersion, as on a GPU: nothing links against the driver.
#pragma once

#include <cstdint>

using CUstream = struct CUstream_st*;
using CUdeviceptr = unsigned long long;
using cuuint32_t = std::uint32_t;

enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_NOT_SUPPORTED = 801,
};
enum CUstreamWaitValue_flags {
  CU_STREAM_WAIT_VALUE_GEQ = 0x0,  // (int32_t)(*address - value) >= 0
  CU_STREAM_WAIT_VALUE_EQ = 0x1,
  CU_STREAM_WAIT_VALUE_AND = 0x2,  // (*address & value) != 0
};
enum CUstreamWriteValue_flags { CU_STREAM_WRITE_VALUE_DEFAULT = 0x0 };

using cuuint64_t = std::uint64_t;

// Of what the model knows; the numbers are CUDA's.
enum CUtensorMapDataType { CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9 };
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};
enum CUtensorMapL2promotion {
  CU_TENSOR_MAP_L2_PROMOTION_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
};
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };
struct alignas(128) CUtensorMap {
  cuuint64_t opaque[16];
};
