// Products by plain loops on the host, of whatever type: what steps are compared with.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "harness/cuda/check.hpp"
#include "kernels/training_step.cuh"

namespace training_step {

template <class T>
struct HostProducts {
  void prepare(const Product&) const {}
  void operator()(cudaStream_t stream, const Product& p, const T* a, const T* b, T* d) const {
    CUDA_CHECK(cudaStreamSynchronize(stream));
    std::vector<T> left(p.count * p.m * p.k), right(p.count * p.n * p.k), sums(p.count * p.m * p.n);
    const auto bytes = [](const std::vector<T>& of) { return of.size() * sizeof(T); };
    CUDA_CHECK(cudaMemcpy(left.data(), a, bytes(left), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(right.data(), b, bytes(right), cudaMemcpyDeviceToHost));
    const bool by_rows = p.kind == Product::Kind::over_rows,
               textbook = p.kind != Product::Kind::dense;
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const std::size_t i = at / (p.m * p.n), row = at / p.n % p.m, column = at % p.n;
      const T* const of_a = &left[i * p.m * p.k + (by_rows ? row : row * p.k)];
      const T* const of_b = &right[i * p.n * p.k + (textbook ? column : column * p.k)];
      for (std::size_t k = 0; k < p.k; ++k) {
        sums[at] += of_a[k * (by_rows ? p.m : 1)] * of_b[k * (textbook ? p.n : 1)];
      }
    }
    CUDA_CHECK(cudaMemcpy(d, sums.data(), bytes(sums), cudaMemcpyHostToDevice));
  }
};

}  // namespace training_step
