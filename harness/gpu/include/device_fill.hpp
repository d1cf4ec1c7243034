// Fills a buffer on the device with random values. (The model's answer to the same name remembers
// the function instead: harness/model/include/device_fill.hpp.)
#pragma once

#include <cstddef>

#include "harness/gpu/launch.hpp"
#include "harness/random.hpp"

namespace gpubench {

template <class T>
__global__ void fill_elements(T* to, std::size_t n, Generator<T> values) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += gridDim.x * std::size_t{blockDim.x}) {
    to[i] = values(i);
  }
}

template <class T>
void fill_random(T* to, std::size_t n, Generator<T> values) {
  launch(fill_elements<T>, dim3(1024), dim3(256), 0, nullptr, to, n, values);
  CUDA_CHECK(cudaDeviceSynchronize());
}

}  // namespace gpubench
