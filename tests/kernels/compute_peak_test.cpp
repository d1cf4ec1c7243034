#include "kernels/compute_peak.cuh"

#include <algorithm>
#include <cstdlib>

#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace compute_peak;

class ComputePeakKernels : public KernelTest {
 protected:
  template <class Unit>
  const model::Counts& chains_of() {
    const auto out = output<double>(2 * chain_threads);
    launch(chains<Unit>, 2, chain_threads, 0, nullptr, out.data());
    expect_elements(out, ExpectedChains<Unit>{});
    return counts();
  }
  static constexpr double all_steps = 2.0 * chain_threads * chains_a_thread * steps;

  template <class Type>
  void mma_of(model::Tensor type) {
    const auto out = output<double>(matrix_threads);
    launch(compute_peak::mma<Type>, 1, matrix_threads, 0, nullptr, out.data());
    expect_elements(out, ExpectedSums<Type>{false});
    const double warps = matrix_threads / warp;
    EXPECT_EQ(counts().tensor_flops[static_cast<std::size_t>(type)],
              warps * mma_flops_a_warp<Type>);
  }
  template <class Type>
  void wgmma_of(model::Tensor type) {
    const auto out = output<double>(matrix_threads);
    launch(compute_peak::wgmma<Type>, 1, matrix_threads, 0, nullptr, out.data());
    expect_elements(out, ExpectedSums<Type>{true});
    EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(type)], wgmma_flops_a_block<Type>);
    EXPECT_EQ(counts().tensor_flops[static_cast<std::size_t>(type)], 0);
  }
};

TEST_F(ComputePeakKernels, ChainsCountAsTheirUnit) {
  EXPECT_EQ(chains_of<Fp32>().fma_fp32, all_steps);
  EXPECT_EQ(chains_of<Fp64>().fma_fp64, all_steps);
  const model::Counts half = chains_of<Fp16x2>(), bfloat = chains_of<Bf16x2>();
  EXPECT_EQ(half.fma_fp16x2, all_steps);
  EXPECT_EQ(half.fma_bf16x2, 0);
  EXPECT_EQ(bfloat.fma_bf16x2, all_steps);
  EXPECT_EQ(bfloat.fma_fp16x2, 0);
  EXPECT_EQ(chains_of<Int32>().mad_int32, all_steps);
}

// Of products in quarters; the terms of a product may be added in any order.
TEST(ComputePeak, SumsOfFp8FitTheirAccumulator) {
  constexpr int limit = 1 << fp8_sum_bits;
  const auto largest = [](unsigned rows, unsigned chains, unsigned columns, unsigned rounds) {
    int most = 0;
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned c = 0; c < chains * columns; ++c) {
        int product = 0, terms = 0;
        for (unsigned k = 0; k < depth<Fp8>; ++k) {
          const int term = halves(row, k) * halves(column_vector(c / columns, c % columns), k);
          product += term;
          terms += std::abs(term);
        }
        most = std::max(most, std::abs(product) * static_cast<int>(rounds - 1) + terms);
      }
    }
    return most;
  };
  EXPECT_LT(largest(16, sums_a_warp<Fp8>, 8, mma_rounds<Fp8>), limit);
  EXPECT_LT(largest(64, 1, wgmma_columns, wgmma_rounds<Fp8>), limit);
  EXPECT_GE(largest(64, 1, wgmma_columns, wgmma_rounds<Fp16>), limit) << "the reason for fewer";
}

TEST_F(ComputePeakKernels, MatricesOfEveryType) {
  using model::Tensor;
  mma_of<Fp16>(Tensor::fp16);
  mma_of<Bf16>(Tensor::bf16);
  mma_of<Tf32>(Tensor::tf32);
  mma_of<Fp8>(Tensor::fp8);
  mma_of<Int8>(Tensor::int8);
  mma_of<TensorFp64>(Tensor::fp64);
}

TEST_F(ComputePeakKernels, TilesOfEveryType) {
  using model::Tensor;
  wgmma_of<Fp16>(Tensor::fp16);
  wgmma_of<Bf16>(Tensor::bf16);
  wgmma_of<Tf32>(Tensor::tf32);
  wgmma_of<Fp8>(Tensor::fp8);
  wgmma_of<Int8>(Tensor::int8);
}

}  // namespace
}  // namespace gpubench
