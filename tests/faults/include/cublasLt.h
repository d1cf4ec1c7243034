// The part of cuBLASLt that harness/platform/gpu/gemm.cpp uses, for a library without a GPU whose
// calls can be made to fail (tests/faults/fake_cublaslt.cpp). Names as in NVIDIA's documentation;
// values are of no account here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum cudaDataType_t {
  CUDA_R_32F,
  CUDA_R_64F,
  CUDA_R_16F,
  CUDA_R_8I,
  CUDA_R_32I,
  CUDA_R_16BF,
  CUDA_R_8F_E4M3,
  CUDA_R_8F_E5M2,
  CUDA_R_4F_E2M1
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F,
  CUBLAS_COMPUTE_32F,
  CUBLAS_COMPUTE_32F_FAST_TF32,
  CUBLAS_COMPUTE_32I,
  CUBLAS_COMPUTE_64F
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA,
  CUBLASLT_MATMUL_DESC_TRANSB,
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
  CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
  CUBLASLT_MATMUL_DESC_B_SCALE_MODE
};
enum cublasLtMatmulMatrixScale_t {
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 = 1,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 = 2
};
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
};
enum cublasLtReductionScheme_t { CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2 };
enum cublasLtMatmulAlgoConfigAttributes_t {
  CUBLASLT_ALGO_CONFIG_ID,
  CUBLASLT_ALGO_CONFIG_TILE_ID,
  CUBLASLT_ALGO_CONFIG_SPLITK_NUM
};
enum cublasLtMatmulAlgoCapAttributes_t { CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS };
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA 1
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA 2
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA 4
#define CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA 8
enum cublasLtMatmulTile_t {
  CUBLASLT_MATMUL_TILE_32x32 = 1,
  CUBLASLT_MATMUL_TILE_32x64 = 2,
  CUBLASLT_MATMUL_TILE_64x32 = 3,
  CUBLASLT_MATMUL_TILE_32x128 = 4,
  CUBLASLT_MATMUL_TILE_64x64 = 5,
  CUBLASLT_MATMUL_TILE_128x32 = 6,
  CUBLASLT_MATMUL_TILE_64x128 = 7,
  CUBLASLT_MATMUL_TILE_128x64 = 8,
  CUBLASLT_MATMUL_TILE_64x256 = 9,
  CUBLASLT_MATMUL_TILE_128x128 = 10,
  CUBLASLT_MATMUL_TILE_256x64 = 11,
  CUBLASLT_MATMUL_TILE_64x512 = 12,
  CUBLASLT_MATMUL_TILE_128x256 = 13,
  CUBLASLT_MATMUL_TILE_256x128 = 14,
  CUBLASLT_MATMUL_TILE_512x64 = 15,
  CUBLASLT_MATMUL_TILE_64x96 = 16,
  CUBLASLT_MATMUL_TILE_96x64 = 17,
  CUBLASLT_MATMUL_TILE_96x128 = 18,
  CUBLASLT_MATMUL_TILE_128x160 = 19,
  CUBLASLT_MATMUL_TILE_160x128 = 20,
  CUBLASLT_MATMUL_TILE_192x128 = 21,
  CUBLASLT_MATMUL_TILE_128x192 = 22,
  CUBLASLT_MATMUL_TILE_128x96 = 23,
  CUBLASLT_MATMUL_TILE_32x256 = 24,
  CUBLASLT_MATMUL_TILE_256x32 = 25,
  CUBLASLT_MATMUL_TILE_64x192 = 26,
  CUBLASLT_MATMUL_TILE_64x320 = 27,
  CUBLASLT_MATMUL_TILE_64x384 = 28,
  CUBLASLT_MATMUL_TILE_128x320 = 29,
  CUBLASLT_MATMUL_TILE_128x384 = 30,
  CUBLASLT_MATMUL_TILE_192x64 = 31,
  CUBLASLT_MATMUL_TILE_192x192 = 32,
  CUBLASLT_MATMUL_TILE_192x256 = 33,
  CUBLASLT_MATMUL_TILE_256x192 = 34,
  CUBLASLT_MATMUL_TILE_320x64 = 35,
  CUBLASLT_MATMUL_TILE_320x128 = 36,
  CUBLASLT_MATMUL_TILE_384x64 = 37,
  CUBLASLT_MATMUL_TILE_384x128 = 38,
  CUBLASLT_MATMUL_TILE_192x320 = 39,
  CUBLASLT_MATMUL_TILE_256x256 = 40,
  CUBLASLT_MATMUL_TILE_320x192 = 41
};

using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t*;
struct cublasLtMatmulAlgo_t {
  int id;
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
};

const char* cublasLtGetStatusString(cublasStatus_t status);
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t of,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t of,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t of,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t what,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t found[], int* count);
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* of,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes,
                                                    std::size_t* written);
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* of,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute,
                                                 void* value, std::size_t bytes,
                                                 std::size_t* written);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t what, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream);

// A call of CUDA's runtime that the model does without.
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int byte, std::size_t width,
                              std::size_t height, cudaStream_t stream);
