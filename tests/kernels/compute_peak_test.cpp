#include <algorithm>
#include <cstdlib>

#include "harness/system/error.hpp"
#include "tests/kernels/compute_peak_runs.hpp"

namespace gpubench {
namespace {

using namespace compute_peak;

class ComputePeakKernels : public ComputePeakRuns {};

TEST_F(ComputePeakKernels, ChainsOfEveryUnit) {
  chains_of<Fp32>();
  chains_of<Fp64>();
  chains_of<Fp16x2>();
  chains_of<Int32>();
}

TEST_F(ComputePeakKernels, ChainsOfBfloat16) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  chains_of<Bf16x2>();
}

// Products are in quarters; the terms of a product may be added in any order.
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

// The largest sum, in sixteenths or, where all scales are powers of two, in quarters.
template <class Type>
int largest_scaled_sum() {
  int most = 0;
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned c = 0; c < 8 * scaled_sums; ++c) {
      most = std::max(most, std::abs(scaled_product<Type>(row, column_vector(c / 8, c % 8))));
    }
  }
  const int rounds = scaled_rounds<Type> / scaled_steps<Type>;
  return most * rounds / (std::is_same_v<Type, Mxfp8> ? 4 : 1);
}
TEST(ComputePeak, SumsWithBlockScalesFitTheirAccumulator) {
  EXPECT_LT(largest_scaled_sum<Mxfp8>(), 1 << fp8_sum_bits);
  EXPECT_LT(largest_scaled_sum<Nvfp4>(), 1 << 24);  // fp32's
  EXPECT_LE(scaled_tcgen05_rounds, scaled_rounds<Nvfp4>);
}

TEST_F(ComputePeakKernels, MatricesOfEveryType) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  mma_of<Fp16>();
  mma_of<Bf16>();
  mma_of<Tf32>();
  mma_of<Int8>();
}

TEST_F(ComputePeakKernels, MatricesOfDoubles) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  try {
    mma_of<TensorFp64>();
  } catch (const UsageError& why) {
    GTEST_SKIP() << why.what();  // the model knows no rate for some devices
  }
}

TEST_F(ComputePeakKernels, MatricesOfFp8) {
  if (const std::string why = too_old_for({8, 9}); !why.empty()) GTEST_SKIP() << why;
  mma_of<Fp8>();
}

TEST_F(ComputePeakKernels, MatricesWithBlockScales) {
  if (const std::string why = why_no_block_scaled_mma(); !why.empty()) GTEST_SKIP() << why;
  scaled_mma_of<Mxfp8>();
  scaled_mma_of<Nvfp4>();
}

TEST_F(ComputePeakKernels, TilesOfEveryType) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  wgmma_of<Fp16>();
  wgmma_of<Bf16>();
  wgmma_of<Tf32>();
  wgmma_of<Fp8>();
  wgmma_of<Int8>();
}

TEST_F(ComputePeakKernels, ProductsInTensorMemory) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  tcgen05_of<Fp16>();
  tcgen05_of<Bf16>();
  tcgen05_of<Tf32>();
  tcgen05_of<Fp8>();
}

TEST_F(ComputePeakKernels, ProductsOfPairsInTensorMemory) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  tcgen05_pair_of<Fp16>();
  tcgen05_pair_of<Bf16>();
  tcgen05_pair_of<Tf32>();
  tcgen05_pair_of<Fp8>();
}

TEST_F(ComputePeakKernels, ProductsWithScalesInTensorMemory) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  scaled_tcgen05_of<Mxfp8>();
  scaled_tcgen05_of<Nvfp4>();
}

TEST_F(ComputePeakKernels, ProductsOfPairsWithScalesInTensorMemory) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  scaled_tcgen05_pair_of<Mxfp8>();
  scaled_tcgen05_pair_of<Nvfp4>();
}

TEST_F(ComputePeakKernels, ProductsOfIntegersInTensorMemory) {
  if (const std::string why = why_no_tcgen05(true); !why.empty()) GTEST_SKIP() << why;
  tcgen05_of<Int8>();
  tcgen05_pair_of<Int8>();
}

}  // namespace
}  // namespace gpubench
