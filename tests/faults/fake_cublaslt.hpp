// What the fake cuBLASLt saw, and which of its calls is to fail.
#pragma once

#include <cublasLt.h>

#include <string>

#include "harness/platform/gemm.hpp"

namespace gpubench {

struct FakeCublasLt {
  int failing_call = 0;  // this one, the first is 1; 0: none
  cublasStatus_t failure = CUBLAS_STATUS_INTERNAL_ERROR;
  int calls = 0;         // so far, of all functions that can fail
  int made = 0;          // handles of all kinds less those destroyed
  std::string failed{};  // the function that did
  // What the last description of a multiplication was told of A and of B.
  struct Scales {
    bool by_blocks = false;
    const void* at = nullptr;
  } scales[2]{};
  int unscaled = 0;  // questions and multiplications refused for want of scales
};
inline FakeCublasLt fake_cublaslt;

// Makes, tunes and queues a multiplication by the GPU's own code. GemmUnavailable, std::exception.
void multiply_by_cublaslt(const GemmShape& shape = GemmShape::dense(GemmType::bf16, 16, 16, 16),
                          const GemmScales& scales = {});

}  // namespace gpubench
