// How the units behind a library's multiplication add up: in which precision, and how it is
// rounded.
//
// Tensor Cores add the products of one step exactly, and what they keep of the new sum in fp32 is
// cut off toward zero (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor
// cores", PeerJ CS 7:e330); in fp16 it is rounded to nearest. Left out: what single products lose
// when they are shifted to the largest of their step, and that sums of fp8 on Hopper keep fewer
// bits until the library adds them up in fp32.
#pragma once

#include <cstddef>
#include <utility>

#include "harness/platform/gemm.hpp"

namespace gpubench::model {

// `x` without the bits of its significand below the first `mantissa`: cut off toward zero.
double cut_to(double x, int mantissa);

// Elements `step` apart.
struct Strided {
  const double* first;
  std::size_t step;
  double operator[](std::size_t i) const { return first[i * step]; }
};

class UnitSums {
 public:
  UnitSums(GemmType type, std::pair<int, int> compute_capability)
      : type_(type), step_(gemm_step(type, compute_capability)) {}

  // The sum of `k` products.
  double sum(Strided a, Strided b, std::size_t k) const;

 private:
  double rounded(double exact) const;

  GemmType type_;
  unsigned step_;
};

}  // namespace gpubench::model
