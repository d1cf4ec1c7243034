// What a transposition must write.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

// Element i of the transposed matrix, whose input has `rows` rows of `columns` elements.
template <class Source>
struct ExpectedTransposed {
  Source in;
  unsigned rows, columns;
  __host__ __device__ auto operator()(std::size_t i) const {
    return in(i % rows * columns + i / rows);
  }
};
