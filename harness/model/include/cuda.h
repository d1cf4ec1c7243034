// The driver types of stream memory operations. The functions themselves come from
// cudaGetDriverEntryPointByVersion, as on a GPU: nothing links against the driver.
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
