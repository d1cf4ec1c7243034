// Matrices of bfloat16 at random, and their product by hand.
#pragma once

#include <cuda_bf16.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace gpubench::model {

using Bf16s = std::vector<__nv_bfloat16>;

class RandomBf16s {
 public:
  Bf16s operator()(std::size_t count) {
    std::uniform_real_distribution<float> values(-2, 2);
    Bf16s numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.emplace_back(values(random_));
    return numbers;
  }

 private:
  std::mt19937 random_{1};
};

// How many sums of a * b differ from `got`; the rows of both lie along k.
inline unsigned wrong_sums(const std::vector<float>& got, const Bf16s& a, const Bf16s& b,
                           std::size_t depth) {
  const std::size_t rows = a.size() / depth, columns = b.size() / depth;
  unsigned wrong = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        sum += double{float{a[row * depth + k]}} * float{b[column * depth + k]};
      }
      wrong += !(std::abs(got[row * columns + column] - sum) < 1e-4);
    }
  }
  return wrong;
}

}  // namespace gpubench::model
