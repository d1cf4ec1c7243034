// Factors in tensor memory, and factors across k: what the PTX ISA says of them, and what the
// emulator says of kernels that use them wrongly.
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "tcgen05_descriptor.hpp"
#include "tests/model/bf16_products.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/tensor_operand_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::operand_columns, kernels::operand_depth, kernels::operand_rows, kernels::OperandSlip;

class TensorOperandTest : public EmulatorTest {
 protected:
  void multiply(OperandSlip slip) {
    kernels::multiply_from_tensor_memory(slip, d_, from_a_, from_b_);
  }
  // How many sums are wrong.
  unsigned wrong(OperandSlip slip) {
    counts_ = counts_of([&] { multiply(slip); });
    std::vector<float> got = download(d_, operand_rows * operand_columns);
    for (float& sum : got) sum /= 3;
    Bf16s along(b_.size());  // wrong_sums() has columns of b along k
    for (unsigned k = 0; k < operand_depth; ++k) {
      for (unsigned column = 0; column < operand_columns; ++column) {
        along[column * operand_depth + k] = b_[k * operand_columns + column];
      }
    }
    return wrong_sums(got, a_, along, operand_depth);
  }
  const Counts& last_counts() const { return counts_; }

 private:
  RandomBf16s random_;
  const Bf16s a_ = random_(operand_rows * operand_depth),
              b_ = random_(operand_depth * operand_columns);
  const __nv_bfloat16 *const from_a_ = upload(a_), *const from_b_ = upload(b_);
  float* const d_ = make<float>(operand_rows * operand_columns);
  Counts counts_;
};

// "Instruction descriptor": bit 16 says that b lies across k.
TEST_F(TensorOperandTest, DescriptorsSayThatBLiesAcrossK) {
  EXPECT_EQ(tcgen05_instruction(Tcgen05Type::bf16, 128, 64, true), 0x0811'0490u);
  EXPECT_EQ(tcgen05_instruction(Tcgen05Type::fp16, 128, 128, true), 0x0821'0010u);
}

TEST_F(TensorOperandTest, SumsAreOfWhatWarpsStore) {
  EXPECT_EQ(wrong(OperandSlip::none), 0u);
  constexpr double products = 2 * operand_depth / 16;
  EXPECT_EQ(last_counts().at(WarpOperation::matrices), products);
  EXPECT_EQ(last_counts().warpgroup_flops[static_cast<std::size_t>(Tensor::bf16)],
            2 * 2.0 * operand_rows * operand_columns * operand_depth);
  EXPECT_GT(wrong(OperandSlip::stride), operand_rows * operand_columns * 9 / 10);
}

TEST_F(TensorOperandTest, StoresAndFactorsHaveTheirPlaces) {
  const std::array<std::pair<OperandSlip, const char*>, 6> slips = {{
      {OperandSlip::other_lanes,
       "tcgen05.st of lane 32 and on by warp 0, whose lanes begin with 0"},
      {OperandSlip::store_elsewhere, "tcgen05.st of columns that are not allocated, from 128 on"},
      {OperandSlip::factor_elsewhere, "an a in columns that are not allocated, from 128 on"},
      {OperandSlip::unwritten_factor, "an a in column 96, which nobody has written"},
      {OperandSlip::lane_of_factor, "an a in a lane that is not the first"},
      {OperandSlip::across_of_tf32, "an instruction descriptor that the model does not know"},
  }};
  expect_faults(slips, [this](OperandSlip slip) { multiply(slip); });
}

TEST_F(TensorOperandTest, NobodyUsesWhatIsUnderWay) {
  const std::array<std::pair<OperandSlip, const char*>, 5> slips = {{
      {OperandSlip::no_wait_for_store, "an a in column 64, which a warp may still be writing"},
      {OperandSlip::no_wait_for_warps, "an a in column 64, which a warp may still be writing"},
      {OperandSlip::store_before_load, "tcgen05.st to column 0, which a warp may still be reading"},
      {OperandSlip::load_before_store, "tcgen05.ld of column 0, which a warp may still be writing"},
      {OperandSlip::early_commit,
       "tcgen05.st to column 72, which tcgen05.mma may still be reading"},
  }};
  expect_faults(slips, [this](OperandSlip slip) { multiply(slip); });
}

TEST_F(TensorOperandTest, FencesStandWhereThreadsTellEachOther) {
  const std::array<std::pair<OperandSlip, const char*>, 3> slips = {{
      {OperandSlip::no_fence_before, "arrival behind tcgen05.ld or st without tcgen05.fence"},
      {OperandSlip::no_fence_after_warps, "behind a wait without tcgen05.fence::after"},
      {OperandSlip::no_fence_after_commit, "behind a wait without tcgen05.fence::after"},
  }};
  expect_faults(slips, [this](OperandSlip slip) { multiply(slip); });
}

}  // namespace
}  // namespace gpubench::model
