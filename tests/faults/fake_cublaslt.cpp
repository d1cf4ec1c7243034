// cuBLASLt's entry points without a GPU: every multiplication has two algorithms and takes no time.
#include "tests/faults/fake_cublaslt.hpp"

#include <cstring>

#include "harness/platform/gemm.hpp"  // its Gemm is the GPU's here (tests/CMakeLists.txt)

using gpubench::fake_cublaslt;

namespace {

cublasStatus_t answer(const char* function) {
  if (++fake_cublaslt.calls != fake_cublaslt.failing_call) return CUBLAS_STATUS_SUCCESS;
  fake_cublaslt.failed = function;
  return fake_cublaslt.failure;
}

// A handle that leads nowhere, if the call does not fail.
template <class Handle>
cublasStatus_t make(const char* function, Handle* handle) {
  static char somewhere;
  const cublasStatus_t status = answer(function);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  *handle = reinterpret_cast<Handle>(&somewhere);
  ++fake_cublaslt.made;
  return status;
}

cublasStatus_t destroy(const char* function) {
  --fake_cublaslt.made;
  return answer(function);
}

// As cuBLASLt refuses a mode of scales by blocks that comes without an aligned address of them.
cublasStatus_t answer_with_scales(const char* function) {
  for (const auto& [by_blocks, at] : fake_cublaslt.scales) {
    if (!by_blocks || (at != nullptr && reinterpret_cast<std::uintptr_t>(at) % 16 == 0)) continue;
    ++fake_cublaslt.unscaled;
    fake_cublaslt.failed = function;
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return answer(function);
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t) { return "CUBLAS_STATUS_INTERNAL_ERROR"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return make(__func__, handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return destroy(__func__); }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t,
                                        cudaDataType_t) {
  for (auto& scales : fake_cublaslt.scales) scales = {};
  return make(__func__, made);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t) { return destroy(__func__); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  auto& [a, b] = fake_cublaslt.scales;
  if (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_MODE) a.by_blocks = true;
  if (attribute == CUBLASLT_MATMUL_DESC_B_SCALE_MODE) b.by_blocks = true;
  if (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) std::memcpy(&a.at, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) std::memcpy(&b.at, value, bytes);
  return answer(__func__);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t,
                                          std::uint64_t, std::uint64_t, std::int64_t) {
  return make(__func__, made);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t) { return destroy(__func__); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                cublasLtMatrixLayoutAttribute_t, const void*,
                                                std::size_t) {
  return answer(__func__);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  return make(__func__, made);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return destroy(__func__);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return answer(__func__);
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t found[], int* count) {
  const cublasStatus_t status = answer_with_scales(__func__);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  *count = most < 2 ? most : 2;
  for (int i = 0; i < *count; ++i) found[i] = {{i}, 1024, CUBLAS_STATUS_SUCCESS, 1.5f};
  return status;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*,
                                                    cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, std::size_t bytes, std::size_t*) {
  std::memset(value, 0, bytes);
  return answer(__func__);
}
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t*,
                                                 cublasLtMatmulAlgoCapAttributes_t, void* value,
                                                 std::size_t bytes, std::size_t*) {
  std::memset(value, 0, bytes);
  return answer(__func__);
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                              cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t,
                              const void*, const void*, cublasLtMatrixLayout_t, void*,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*,
                              std::size_t, cudaStream_t) {
  return answer_with_scales(__func__);
}

cudaError_t cudaMemset2DAsync(void*, std::size_t, int, std::size_t, std::size_t, cudaStream_t) {
  return cudaErrorNotSupported;
}

void gpubench::multiply_by_cublaslt(const GemmShape& shape, const GemmScales& scales) {
  Gemm gemm(shape);
  if (scales.a == nullptr) gemm.tune(nullptr, nullptr, nullptr, 2);
  gemm.queue(nullptr, nullptr, nullptr, nullptr, scales);
}
