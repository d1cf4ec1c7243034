#include "on_device.hpp"
#include "tests/kernels/compute_peak_runs.hpp"

namespace gpubench {
namespace {

using namespace compute_peak;
using model::Tensor;

class ComputePeakCounts : public ComputePeakRuns {
 protected:
  template <class Unit>
  const model::Counts& counts_of_chains() {
    chains_of<Unit>();
    return counts();
  }
  static constexpr double all_steps = 2.0 * chain_threads * chains_a_thread * steps;

  template <class Type>
  void expect_mma(Tensor type) {
    mma_of<Type>();
    const double warps = matrix_threads / warp;
    EXPECT_EQ(counts().tensor_flops[static_cast<std::size_t>(type)],
              warps * mma_flops_a_warp<Type>);
  }
  template <class Type>
  void expect_wgmma(Tensor type) {
    wgmma_of<Type>();
    EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(type)],
              wgmma_flops_per_block<Type>);
    EXPECT_EQ(counts().tensor_flops[static_cast<std::size_t>(type)], 0);
  }
};
class ComputePeakBlackwellCounts : OnDevice, public ComputePeakRuns {
 protected:
  ComputePeakBlackwellCounts() : OnDevice("b200") {}

  template <class Type>
  void expect_scaled_tcgen05(Tensor type) {
    scaled_tcgen05_of<Type>();
    EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(type)],
              scaled_tcgen05_flops_per_block<Type>);
    EXPECT_EQ(counts().at(model::WarpOperation::matrices), scaled_tcgen05_rounds);
    EXPECT_EQ(emulator.runs().back().profile.tensor_columns, tcgen05_columns);
  }
  template <class Type>
  void expect_tcgen05_pair(Tensor type) {
    tcgen05_pair_of<Type>();
    // Both blocks' Tensor Cores work; one thread asks for both.
    EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(type)],
              2 * pair_flops_per_block<Type>);
    EXPECT_EQ(counts().at(model::WarpOperation::matrices), pair_rounds);
    EXPECT_EQ(emulator.runs().back().profile.tensor_columns, tcgen05_columns);
  }
  template <class Type>
  void expect_scaled_tcgen05_pair(Tensor type) {
    scaled_tcgen05_pair_of<Type>();
    EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(type)],
              2 * scaled_pair_flops_per_block<Type>);
    EXPECT_EQ(counts().at(model::WarpOperation::matrices), scaled_pair_rounds);
    EXPECT_EQ(emulator.runs().back().profile.tensor_columns, tcgen05_columns);
  }
  template <class Type>
  void expect_tcgen05(Tensor type) {
    tcgen05_of<Type>();
    EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(type)],
              tcgen05_flops_per_block<Type>);
    EXPECT_EQ(counts().at(model::WarpOperation::matrices), tcgen05_rounds);
    EXPECT_EQ(emulator.runs().back().profile.tensor_columns, tcgen05_columns);
  }
};
class ComputePeakGeForceCounts : OnDevice, public ComputePeakRuns {
 protected:
  ComputePeakGeForceCounts() : OnDevice("rtx-5090") {}

  template <class Type>
  void expect_scaled_mma(Tensor type) {
    scaled_mma_of<Type>();
    const double warps = matrix_threads / warp;
    EXPECT_EQ(counts().tensor_flops[static_cast<std::size_t>(type)],
              warps * scaled_flops_a_warp<Type>);
    EXPECT_EQ(counts().at(model::WarpOperation::matrices),
              warps * scaled_sums * scaled_rounds<Type>);
  }
};

TEST_F(ComputePeakCounts, ChainsCountAsTheirUnit) {
  EXPECT_EQ(counts_of_chains<Fp32>().fma_fp32, all_steps);
  EXPECT_EQ(counts_of_chains<Fp64>().fma_fp64, all_steps);
  const model::Counts half = counts_of_chains<Fp16x2>(), bfloat = counts_of_chains<Bf16x2>();
  EXPECT_EQ(half.fma_fp16x2, all_steps);
  EXPECT_EQ(half.fma_bf16x2, 0);
  EXPECT_EQ(bfloat.fma_bf16x2, all_steps);
  EXPECT_EQ(bfloat.fma_fp16x2, 0);
  EXPECT_EQ(counts_of_chains<Int32>().mad_int32, all_steps);
}

TEST_F(ComputePeakCounts, MatricesCountAsTheirType) {
  expect_mma<Fp16>(Tensor::fp16);
  expect_mma<Bf16>(Tensor::bf16);
  expect_mma<Tf32>(Tensor::tf32);
  expect_mma<Fp8>(Tensor::fp8);
  expect_mma<Int8>(Tensor::int8);
  expect_mma<TensorFp64>(Tensor::fp64);
}

TEST_F(ComputePeakGeForceCounts, MatricesWithBlockScalesCountAsTheirType) {
  ASSERT_EQ(why_no_block_scaled_mma(), "");
  expect_scaled_mma<Mxfp8>(Tensor::mxfp8);
  expect_scaled_mma<Nvfp4>(Tensor::nvfp4);
}

TEST_F(ComputePeakCounts, TilesCountAsTheirType) {
  expect_wgmma<Fp16>(Tensor::fp16);
  expect_wgmma<Bf16>(Tensor::bf16);
  expect_wgmma<Tf32>(Tensor::tf32);
  expect_wgmma<Fp8>(Tensor::fp8);
  expect_wgmma<Int8>(Tensor::int8);
}

TEST_F(ComputePeakBlackwellCounts, ProductsInTensorMemoryCountAsTheirType) {
  ASSERT_EQ(why_no_tcgen05(true), "");
  expect_tcgen05<Fp16>(Tensor::fp16);
  expect_tcgen05<Bf16>(Tensor::bf16);
  expect_tcgen05<Tf32>(Tensor::tf32);
  expect_tcgen05<Fp8>(Tensor::fp8);
  expect_tcgen05<Int8>(Tensor::int8);
}

TEST_F(ComputePeakBlackwellCounts, ProductsOfPairsInTensorMemoryCountAsTheirType) {
  ASSERT_EQ(why_no_tcgen05(true), "");
  expect_tcgen05_pair<Fp16>(Tensor::fp16);
  expect_tcgen05_pair<Bf16>(Tensor::bf16);
  expect_tcgen05_pair<Tf32>(Tensor::tf32);
  expect_tcgen05_pair<Fp8>(Tensor::fp8);
  expect_tcgen05_pair<Int8>(Tensor::int8);
}

TEST_F(ComputePeakBlackwellCounts, ProductsWithScalesInTensorMemoryCountAsTheirType) {
  ASSERT_EQ(why_no_tcgen05(), "");
  expect_scaled_tcgen05<Mxfp8>(Tensor::mxfp8);
  expect_scaled_tcgen05<Nvfp4>(Tensor::nvfp4);
}

TEST_F(ComputePeakBlackwellCounts, ProductsOfPairsWithScalesInTensorMemoryCountAsTheirType) {
  ASSERT_EQ(why_no_tcgen05(), "");
  expect_scaled_tcgen05_pair<Mxfp8>(Tensor::mxfp8);
  expect_scaled_tcgen05_pair<Nvfp4>(Tensor::nvfp4);
}

}  // namespace
}  // namespace gpubench
