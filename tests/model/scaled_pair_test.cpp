// Products with block scales of a pair of blocks: the sums are those of one block's products, and
// what the emulator says of kernels that use a pair's scales wrongly.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/model/emulator_fixture.hpp"
#include "tests/model/scaled_pair_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::scaled_pair_columns, kernels::scaled_pair_rows, kernels::scaled_pair_steps;
using kernels::ScaledPairSlip;

class ScaledPairTest : public EmulatorTest {
 protected:
  ScaledPairTest() : EmulatorTest("b200") { use_type(Tcgen05Type::mxfp8); }

  // Elements at random, but for E4M3's NaN, and scales near 1.
  void use_type(Tcgen05Type type) {
    type_ = type;
    a_ = rows(scaled_pair_rows);
    b_ = rows(scaled_pair_columns);
  }
  void multiply(ScaledPairSlip slip) { kernels::multiply_scaled_in_pair(type_, slip, d_, a_, b_); }
  // In fresh memory, which is NaN and so equal to nothing.
  std::vector<float> sums(ScaledPairSlip slip) {
    d_ = make<float>(count);
    counts_ = counts_of([&] { multiply(slip); });
    return download(d_, count);
  }
  std::vector<float> sums_of_blocks() {
    d_ = make<float>(count);
    counts_of([&] { kernels::multiply_scaled_in_blocks(type_, d_, a_, b_); });
    return download(d_, count);
  }

  static constexpr std::size_t count = std::size_t{scaled_pair_rows} * scaled_pair_columns;
  Counts counts_;  // of the last sums()

 private:
  kernels::ScaledRows rows(unsigned count_of_rows) {
    const unsigned first_scale = type_ == Tcgen05Type::mxfp8 ? 120 : 0x30;
    const auto words = [&](unsigned of_row, bool are_scales) {
      std::vector<unsigned> all(std::size_t{count_of_rows} * scaled_pair_steps * of_row);
      for (unsigned& word : all) {
        word = 0;
        for (unsigned byte = 0; byte < 4; ++byte) {
          const auto bits = static_cast<unsigned>(random_() & 0xff);
          const unsigned element = (bits & 0x7f) == 0x7f ? bits - 1 : bits;
          word |= (are_scales ? first_scale + bits % 16 : element) << 8 * byte;
        }
      }
      return upload(all);
    };
    return {words(8, false), words(1, true)};
  }

  std::mt19937 random_{1};
  Tcgen05Type type_ = Tcgen05Type::mxfp8;
  kernels::ScaledRows a_{}, b_{};
  float* d_ = make<float>(count);
};

TEST_F(ScaledPairTest, SumsAreThoseOfOneBlockToTheLastBit) {
  const std::pair<Tcgen05Type, Tensor> types[] = {{Tcgen05Type::mxfp8, Tensor::mxfp8},
                                                  {Tcgen05Type::nvfp4, Tensor::nvfp4}};
  for (const auto& [type, tensor] : types) {
    use_type(type);
    EXPECT_EQ(sums(ScaledPairSlip::none), sums_of_blocks());
    const unsigned depth = type == Tcgen05Type::mxfp8 ? 32 : 64;
    EXPECT_EQ(counts_.warpgroup_flops[static_cast<std::size_t>(tensor)],
              2.0 * count * depth * scaled_pair_steps);
    EXPECT_EQ(counts_.at(WarpOperation::matrices), scaled_pair_steps);
  }
}

// Each block takes from its own tensor memory the scales of its rows, and of all columns.
TEST_F(ScaledPairTest, ABlockHasTheScalesOfItsRowsAndOfAllColumns) {
  const std::vector<float> right = sums(ScaledPairSlip::none);
  for (const auto& [slip, is_even_right] : {std::pair{ScaledPairSlip::other_rows_of_scales, true},
                                            std::pair{ScaledPairSlip::half_of_bs_scales, false}}) {
    const std::vector<float> got = sums(slip);
    constexpr std::ptrdiff_t half = count / 2;
    EXPECT_EQ(std::equal(got.begin(), got.begin() + half, right.begin()), is_even_right);
    EXPECT_FALSE(std::equal(got.begin() + half, got.end(), right.begin() + half));
  }
}

TEST_F(ScaledPairTest, CopiesArePairsAndTheEvenBlockAsks) {
  const std::pair<ScaledPairSlip, const char*> slips[] = {
      {ScaledPairSlip::no_cluster,
       "tcgen05.alloc of cta_group::2 in a kernel without clusters of two blocks"},
      {ScaledPairSlip::copy_of_one,
       "tcgen05.cp of another cta_group than what the kernel used before"},
      {ScaledPairSlip::product_of_one,
       "tcgen05.mma of another cta_group than what the kernel used before"},
      {ScaledPairSlip::odd_block_copies, "tcgen05.cp of cta_group::2 by the odd block of its pair"},
      {ScaledPairSlip::half_the_rows,
       "tcgen05.mma of 128 x 96 sums by a pair, which the model does not know"},
      {ScaledPairSlip::other_scales,
       "tcgen05.mma by an instruction descriptor that the model does not know for its kind"},
  };
  expect_faults(slips, [this](ScaledPairSlip slip) { multiply(slip); });
}

TEST_F(ScaledPairTest, ScalesAreWhereTheProductTakesThem) {
  const std::pair<ScaledPairSlip, const char*> slips[] = {
      {ScaledPairSlip::copy_elsewhere, "tcgen05.cp to columns that are not allocated, from 126 on"},
      {ScaledPairSlip::copy_from_beyond, "tcgen05.cp from beyond the dynamic shared memory"},
      {ScaledPairSlip::no_copy, "tcgen05.mma by scales in column 104, which nobody has written"},
      {ScaledPairSlip::scales_elsewhere,
       "tcgen05.mma by scales in columns that are not allocated, from 128 on"},
      {ScaledPairSlip::other_warp_copies,
       "race: tcgen05.mma by scales in column 96, which another warp may still be writing"},
  };
  expect_faults(slips, [this](ScaledPairSlip slip) { multiply(slip); });
}

TEST_F(ScaledPairTest, NobodyUsesScalesThatThePairMayStillCopy) {
  const std::pair<ScaledPairSlip, const char*> slips[] = {
      {ScaledPairSlip::no_meeting_before,
       "of dynamic shared memory of block (1,0,0), not all of which its block has written"},
      {ScaledPairSlip::no_meeting_after, "no cluster barrier follows"},
      {ScaledPairSlip::stores_early,
       "there by another block of the cluster, with no cluster barrier"},
  };
  expect_faults(slips, [this](ScaledPairSlip slip) { multiply(slip); });
}

}  // namespace
}  // namespace gpubench::model
