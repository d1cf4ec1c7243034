// Products in tensor memory with block scales: what the PTX ISA says of their descriptor, written
// out here once more, and what the emulator says of kernels that use them wrongly. (That results
// are right is for tests/kernels/compute_peak_test.cpp.)
#include <gtest/gtest.h>

#include <utility>

#include "tcgen05_descriptor.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/scaled_tensor_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::ScaledSlip;

class ScaledTensorTest : public EmulatorTest {
 protected:
  ScaledTensorTest() : EmulatorTest("b200") {}
  float* const d_ = make<float>(kernels::scaled_rows * kernels::scaled_columns);
};

TEST_F(ScaledTensorTest, ScalesAreCopiedAndMultiplied) {
  const Counts counts = counts_of([&] { kernels::multiply_scaled_ones(ScaledSlip::none, d_); });
  const std::size_t sums = std::size_t{kernels::scaled_rows} * kernels::scaled_columns;
  EXPECT_EQ(download(d_, sums), std::vector<float>(sums, kernels::scaled_depth));
  EXPECT_EQ(counts.warpgroup_flops[static_cast<std::size_t>(Tensor::mxfp8)],
            2.0 * static_cast<double>(sums) * kernels::scaled_depth);
}

// "Instruction descriptor format for .kind::mxf8f6f4" and "... .kind::mxf4nvf4".
TEST(ScaledInstruction, HasItsFieldsWhereTheInstructionSetHasThem) {
  EXPECT_EQ(tcgen05_scaled_instruction(Tcgen05Type::mxfp8, 128, 192, 0, 0),
            8u << 24 | 1u << 23 | 24u << 17);
  EXPECT_EQ(tcgen05_scaled_instruction(Tcgen05Type::mxfp8, 128, 256, 3, 1),
            3u << 29 | 8u << 24 | 1u << 23 | 32u << 17 | 1u << 4);
  EXPECT_EQ(tcgen05_scaled_instruction(Tcgen05Type::nvfp4, 128, 64, 0, 0),
            8u << 24 | 8u << 17 | 1u << 10 | 1u << 7);
}

TEST_F(ScaledTensorTest, MistakesAreNamed) {
  const std::pair<ScaledSlip, const char*> mistakes[] = {
      {ScaledSlip::no_copy, "tcgen05.mma by scales in column 32, which nobody has written"},
      {ScaledSlip::copy_elsewhere, "tcgen05.cp to columns that are not allocated, from 62 on"},
      {ScaledSlip::copy_to_lane, "tcgen05.cp to a lane that is not the first"},
      {ScaledSlip::copy_from_beyond, "tcgen05.cp from beyond the dynamic shared memory"},
      {ScaledSlip::scales_elsewhere,
       "tcgen05.mma by scales in columns that are not allocated, from 64 on"},
      {ScaledSlip::other_scales,
       "tcgen05.mma by an instruction descriptor that the model does not know for its kind"},
      {ScaledSlip::other_warp,
       "race: tcgen05.mma by scales in column 32, which another warp may still be writing"},
      {ScaledSlip::other_thread, "tcgen05 by two threads of a warp"},
  };
  expect_faults(mistakes, [&](ScaledSlip slip) { kernels::multiply_scaled_ones(slip, d_); });
}

}  // namespace
}  // namespace gpubench::model
