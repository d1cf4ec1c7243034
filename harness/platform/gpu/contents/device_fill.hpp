// Fills a buffer on the device, element i with values(i), such as a Generator's. (The model's
// answer to the same name remembers the function instead:
// harness/platform/model/contents/device_fill.hpp.)
#pragma once

#include <cstddef>

#include "harness/contents/random.hpp"
#include "harness/cuda/launch.hpp"

namespace gpubench {

template <class T, class Values>
__global__ void fill_elements(T* to, std::size_t n, Values values) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += gridDim.x * std::size_t{blockDim.x}) {
    to[i] = values(i);
  }
}

template <class T, class Values>
void fill_random(T* to, std::size_t n, Values values) {
  launch(fill_elements<T, Values>, dim3(1024), dim3(256), 0, nullptr, to, n, values);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace gpubench
