// What the fake cuBLASLt saw, and which of its calls is to fail.
#pragma once

#include <cublasLt.h>

#include <string>

namespace gpubench {

struct FakeCublasLt {
  int failing_call = 0;  // this one, the first is 1; 0: none
  cublasStatus_t failure = CUBLAS_STATUS_INTERNAL_ERROR;
  int calls = 0;         // so far, of all functions that can fail
  int made = 0;          // handles of all kinds less those destroyed
  std::string failed{};  // the function that did
};
inline FakeCublasLt fake_cublaslt;

// Makes, tunes and queues a multiplication by the GPU's own code. GemmUnavailable, std::exception.
void multiply_by_cublaslt();

}  // namespace gpubench
