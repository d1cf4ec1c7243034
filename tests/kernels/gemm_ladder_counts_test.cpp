#include "on_device.hpp"
#include "tests/kernels/gemm_ladder_runs.hpp"

namespace gpubench {
namespace {

using namespace gemm_ladder;

class GemmLadderCounts : public GemmLadderRuns {
 protected:
  // A warp's wavefronts for a multiply-add of its lanes, or instructions.
  double per_fma(double of) const { return of / counts().issues(model::Arithmetic::fma_fp32); }
  const model::AccessCounts& shared(model::Access access) const {
    return counts().at(model::Space::shared, access);
  }
  void expect_no_conflicts() const {
    for (const model::Access access : {model::Access::load, model::Access::store}) {
      EXPECT_DOUBLE_EQ(shared(access).wavefronts, shared(access).ideal_wavefronts);
    }
  }
};

// What Step says of a warp's k, and which banks are asked twice.
TEST_F(GemmLadderCounts, LoadsForAMultiplyAdd) {
  using model::Access;
  const auto expect = [&](double loads, double wavefronts) {
    EXPECT_DOUBLE_EQ(per_fma(shared(Access::load).requests), loads);
    EXPECT_DOUBLE_EQ(per_fma(shared(Access::load).wavefronts), wavefronts);
    EXPECT_DOUBLE_EQ(shared(Access::store).wavefronts, shared(Access::store).ideal_wavefronts);
  };
  // A load of four k of A has four wavefronts, of which two are packed away.
  expect_product(shared_tile, shared_tile_tiles, {side, side}, 64, 64, 64);
  expect(1.25, 2);
  EXPECT_DOUBLE_EQ(per_fma(counts().packed_wavefronts), 0.5);
  expect_product(register_1d, register_1d_tiles, 256, 128, 64, 64);
  expect(3.0 / 8, 9.0 / 8);
  EXPECT_DOUBLE_EQ(per_fma(counts().packed_wavefronts), 4.0 / 8);
  expect_product(register_2d, tiles_of_128, tile_threads, 128, 128, 64);
  // From B, eight lanes side by side read 16 bytes each at a distance of 32: two passes.
  expect(10.0 / 64, (8 + 2 * 4 * 2) / 64.0);
  EXPECT_DOUBLE_EQ(per_fma(counts().packed_wavefronts), 0);
  for (const auto kernel : {vectorised, double_buffered}) {
    expect_product(kernel, tiles_of_128, tile_threads, 128, 128, 64);
    expect(4.0 / 64, 16.0 / 64);
    EXPECT_DOUBLE_EQ(per_fma(counts().packed_wavefronts), 4.0 / 64) << "of A's: lanes share rows";
  }
}

TEST_F(GemmLadderCounts, Bf16WithoutBankConflicts) {
  expect_bf16_product(by_mma, 128, 256, 64);
  expect_no_conflicts();
  expect_bf16_product(by_wgmma, 128, 256, 64);
  expect_no_conflicts();
}

class GemmLadderBlackwellCounts : OnDevice, public GemmLadderCounts {
 protected:
  GemmLadderBlackwellCounts() : OnDevice("b200") {}
};

// Two tiles for one of two blocks, of which one is stored while the other is multiplied.
TEST_F(GemmLadderBlackwellCounts, Tcgen05) {
  ASSERT_EQ(why_no_tcgen05(), "");
  expect_bf16_product(by_tcgen05, 384, 256, 128);
  expect_no_conflicts();
  EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(model::Tensor::bf16)],
            2.0 * 384 * 256 * 128);
  EXPECT_EQ(counts().bulk_loads.bytes, 3.0 * (128 + 256) * 128 * sizeof(element));
  // Whole lines, of which a request stores four.
  const auto& stores = counts().at(model::Space::global, model::Access::store);
  EXPECT_EQ(stores.sectors, stores.ideal_sectors);
  EXPECT_EQ(stores.bytes, 384.0 * 256 * sizeof(element));
}

// For a tile of 256 x 256, each block of a pair brings half of A's rows and half of B's.
TEST_F(GemmLadderBlackwellCounts, Tcgen05OfPairs) {
  ASSERT_EQ(why_no_tcgen05(), "");
  expect_bf16_product(by_tcgen05_pair, 768, 256, 128);
  expect_no_conflicts();
  EXPECT_EQ(counts().warpgroup_flops[static_cast<std::size_t>(model::Tensor::bf16)],
            2.0 * 768 * 256 * 128);
  EXPECT_EQ(counts().bulk_loads.bytes, 3.0 * (256 + 256) * 128 * sizeof(element));
  const auto& stores = counts().at(model::Space::global, model::Access::store);
  EXPECT_EQ(stores.sectors, stores.ideal_sectors);
  EXPECT_EQ(stores.bytes, 768.0 * 256 * sizeof(element));
}

}  // namespace
}  // namespace gpubench
