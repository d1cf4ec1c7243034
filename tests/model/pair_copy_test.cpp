// What the copy engine brings to a pair of blocks, and who may replace what: their products are
// right, and the emulator says what is wrong with kernels that wait for too little.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "tests/model/bf16_products.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/pair_copy_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::copied_columns, kernels::copied_depth, kernels::copied_rows, kernels::PairCopySlip;

class PairCopyTest : public EmulatorTest {
 protected:
  void multiply(PairCopySlip slip) { kernels::multiply_copies_in_pair(slip, d_, from_a_, from_b_); }
  unsigned wrong() {
    return wrong_sums(download(d_, std::size_t{copied_rows} * copied_columns), a_, b_,
                      copied_depth);
  }

 private:
  RandomBf16s random_;
  const Bf16s a_ = random_(copied_rows * copied_depth), b_ = random_(copied_columns * copied_depth);
  const __nv_bfloat16 *const from_a_ = upload(a_), *const from_b_ = upload(b_);
  float* const d_ = make<float>(std::size_t{copied_rows} * copied_columns);
};

TEST_F(PairCopyTest, EachBlockBringsItsShare) {
  const Counts counts = counts_of([this] { multiply(PairCopySlip::none); });
  EXPECT_EQ(wrong(), 0u);
  EXPECT_EQ(counts.bulk_loads.bytes, (copied_rows + copied_columns) * copied_depth * 2.0);
}

TEST_F(PairCopyTest, CopiesThatLandLateChangeNothing) {
  Emulator late{spec, memory, {.threads = 2, .ordering = {.late_bulk_copies = true}}};
  use(late);
  multiply(PairCopySlip::none);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(wrong(), 0u);
}

TEST_F(PairCopyTest, WhatThePairHasUnderWayIsWaitedFor) {
  const std::array<std::pair<PairCopySlip, const char*>, 6> slips = {{
      {PairCopySlip::no_cluster,
       "bulk copy to an mbarrier of a pair in a kernel without clusters of two blocks"},
      {PairCopySlip::no_wait, "asynchronous copy"},
      // The even block comes first, and finds nothing there.
      {PairCopySlip::arrives_at_home,
       "of dynamic shared memory of block (1,0,0), not all of which its block has written"},
      {PairCopySlip::no_hold, "asynchronous copy that has not been waited for: 16384 bytes"},
      // Its commit ends a phase that nobody has seen begin.
      {PairCopySlip::early_product, "waits for a phase of an mbarrier"},
      {PairCopySlip::early_arrival,
       "race: tcgen05.mma of column 0 of the other block of the pair, which a warp may still be"
       " reading by tcgen05.ld"},
  }};
  expect_faults(slips, [this](PairCopySlip slip) { multiply(slip); });
}

}  // namespace
}  // namespace gpubench::model
