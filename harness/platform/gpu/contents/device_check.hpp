// Compares every element of a buffer on the device with what it must be. (The model's answer to the
// same name looks only at what was written: harness/platform/model/contents/device_check.hpp.)
#pragma once

#include <cstddef>
#include <string>

#include "harness/contents/element_check.hpp"
#include "harness/cuda/buffer.hpp"
#include "harness/cuda/launch.hpp"

namespace gpubench {

template <class T, class Expected>
__global__ void find_wrong_element(const T* got, unsigned long long n, Expected expected,
                                   double relative, double absolute, unsigned long long* first) {
  for (unsigned long long i = blockIdx.x * 1ull * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * 1ull * blockDim.x) {
    if (!is_right(got[i], static_cast<T>(expected(i)), relative, absolute)) atomicMin(first, i);
  }
}

// "" when all is right, else the first wrong element in words.
template <class T, class Expected>
std::string check_elements(const T* got, std::size_t n, Expected expected, double relative,
                           double absolute, bool /*only_written: all blocks ran*/) {
  DeviceBuffer<unsigned long long> first(1);
  CUDA_CHECK(cudaMemset(first.data(), 0xFF, first.bytes()));
  launch(find_wrong_element<T, Expected>, dim3(1024), dim3(256), 0, nullptr, got,
         static_cast<unsigned long long>(n), expected, relative, absolute, first.data());
  const unsigned long long wrong = first.download()[0];
  if (wrong == ~0ull) return {};
  T value{};
  CUDA_CHECK(cudaMemcpy(&value, got + wrong, sizeof(T), cudaMemcpyDeviceToHost));
  return describe_wrong(wrong, value, static_cast<T>(expected(wrong)));
}

}  // namespace gpubench
