// Products of a pair of blocks: the sums are those of one block's products, and what the emulator
// says of kernels that use a pair wrongly.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/bf16_products.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/tensor_memory_kernels.hpp"
#include "tests/model/tensor_pair_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::pair_columns, kernels::pair_depth, kernels::pair_rows, kernels::PairSlip;

class TensorPairTest : public EmulatorTest {
 protected:
  void multiply(PairSlip slip) { kernels::multiply_in_pair(slip, d_, from_a_, from_b_); }
  std::vector<float> sums() { return download(d_, std::size_t{pair_rows} * pair_columns); }
  // Those of a product of one block each for the upper and the lower half of the rows; in fresh
  // memory, which is NaN and so equal to nothing.
  std::vector<float> sums_of_one_block_each() {
    constexpr std::size_t half = pair_rows / 2;
    float* const d = make<float>(std::size_t{pair_rows} * pair_columns);
    for (const std::size_t row : {std::size_t{0}, half}) {
      kernels::multiply_in_tensor_memory(kernels::TensorSlip::none, d + row * pair_columns,
                                         from_a_ + row * pair_depth, from_b_);
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    return download(d, std::size_t{pair_rows} * pair_columns);
  }
  unsigned wrong() { return wrong_sums(sums(), a_, b_, pair_depth); }

 private:
  RandomBf16s random_;
  const Bf16s a_ = random_(pair_rows * pair_depth), b_ = random_(pair_columns * pair_depth);
  const __nv_bfloat16 *const from_a_ = upload(a_), *const from_b_ = upload(b_);
  float* const d_ = make<float>(std::size_t{pair_rows} * pair_columns);
};

TEST_F(TensorPairTest, SumsAreThoseOfOneBlockToTheLastBit) {
  static_assert(pair_depth == kernels::tensor_depth && pair_columns == kernels::tensor_columns);
  const Counts counts = counts_of([this] { multiply(PairSlip::none); });
  EXPECT_EQ(wrong(), 0u);
  const std::vector<float> of_pair = sums();
  EXPECT_EQ(of_pair, sums_of_one_block_each());
  EXPECT_EQ(counts.warpgroup_flops[static_cast<std::size_t>(Tensor::bf16)],
            2.0 * pair_rows * pair_columns * pair_depth);
  EXPECT_EQ(counts.at(WarpOperation::matrices), pair_depth / 16);
}

TEST_F(TensorPairTest, BothBlocksAllocateTheSame) {
  const std::array<std::pair<PairSlip, const char*>, 5> slips = {{
      {PairSlip::early_allocation,
       "tcgen05.alloc of cta_group::2 before the cluster has met: the other block need not have "
       "begun"},
      {PairSlip::no_cluster,
       "tcgen05.alloc of cta_group::2 in a kernel without clusters of two blocks"},
      {PairSlip::one_allocates, "waits for the other block of its pair"},
      {PairSlip::other_size, "where the other block of the pair does something else"},
      {PairSlip::one_keeps, "waits for the other block of its pair"},
  }};
  expect_faults(slips, [this](PairSlip slip) { multiply(slip); });
}

TEST_F(TensorPairTest, ProductsAreAPairsAndTheEvenBlockAsks) {
  const std::array<std::pair<PairSlip, const char*>, 5> slips = {{
      {PairSlip::odd_block_asks, "tcgen05.mma of cta_group::2 by the odd block of its pair"},
      {PairSlip::product_of_one,
       "tcgen05.mma of another cta_group than what the kernel used before"},
      {PairSlip::allocation_of_one,
       "tcgen05.mma of another cta_group than what the kernel used before"},
      {PairSlip::half_the_rows,
       "tcgen05.mma of 128 x 64 sums by a pair, which the model does not know"},
      {PairSlip::odd_columns,
       "tcgen05.mma of 256 x 48 sums by a pair, which the model does not know"},
  }};
  expect_faults(slips, [this](PairSlip slip) { multiply(slip); });
}

TEST_F(TensorPairTest, CommitsArriveInBlocksThatWaitForThem) {
  const std::array<std::pair<PairSlip, const char*>, 6> slips = {{
      {PairSlip::no_fence,
       "tcgen05.commit to an mbarrier of the other block of the pair, which has initialised it "
       "without a fence for the cluster"},
      {PairSlip::wait_of_one,
       "wait for an mbarrier that another block has arrived at, but not in the cluster's scope"},
      {PairSlip::commit_to_one, "waits for a phase of an mbarrier"},
      {PairSlip::commit_beyond, "tcgen05.commit to blocks beyond its pair"},
      {PairSlip::commit_to_none, "tcgen05.commit to no block"},
      {PairSlip::commit_elsewhere,
       "tcgen05.commit to an mbarrier of the other block of the pair, which has not initialised "
       "it"},
  }};
  expect_faults(slips, [this](PairSlip slip) { multiply(slip); });
}

TEST_F(TensorPairTest, NobodyUsesWhatThePairHasUnderWay) {
  const std::array<std::pair<PairSlip, const char*>, 4> slips = {{
      {PairSlip::no_meeting_before,
       "race: 16-byte load at bytes 0..15 of dynamic shared memory of block (1,0,0)"},
      {PairSlip::no_meeting_after, "no cluster barrier follows"},
      {PairSlip::no_wait_for_commit,
       "race: tcgen05.ld of column 0, which tcgen05.mma may still be writing"},
      {PairSlip::stores_early, "there by another block of the cluster, with no cluster barrier"},
  }};
  expect_faults(slips, [this](PairSlip slip) { multiply(slip); });
}

}  // namespace
}  // namespace gpubench::model
