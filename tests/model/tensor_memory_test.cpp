// Products in tensor memory: what the PTX ISA says of their descriptors, written out here once
// more, and what the emulator says of kernels that use them wrongly.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/emulator/shared_matrix.hpp"
#include "tcgen05_descriptor.hpp"
#include "tests/model/bf16_products.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/tensor_memory_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::tensor_columns, kernels::tensor_depth, kernels::tensor_rows, kernels::TensorSlip;

class TensorMemoryTest : public EmulatorTest {
 protected:
  void multiply(TensorSlip slip) { kernels::multiply_in_tensor_memory(slip, d_, from_a_, from_b_); }
  // How many sums are wrong.
  unsigned wrong(TensorSlip slip) {
    counts_ = counts_of([&] { multiply(slip); });
    return wrong_sums(download(d_, tensor_rows * tensor_columns), a_, b_, tensor_depth);
  }
  const Counts& last_counts() const { return counts_; }

 private:
  RandomBf16s random_;
  const Bf16s a_ = random_(tensor_rows * tensor_depth), b_ = random_(tensor_columns * tensor_depth);
  const __nv_bfloat16 *const from_a_ = upload(a_), *const from_b_ = upload(b_);
  float* const d_ = make<float>(tensor_rows * tensor_columns);
  Counts counts_;
};

// "Shared memory descriptor": address, leading and stride distance in units of 16 bytes from bits
// 0, 16 and 32 on, 0b001 from bit 46 on, swizzling modes 0, 2, 4 and 6 from bit 61 on.
TEST_F(TensorMemoryTest, DescriptorsOfMatricesAreThePtxIsas) {
  EXPECT_EQ(tcgen05_matrix(0x2400, 0, 1024, Swizzle::of_128_bytes), 0x4000'4040'0000'0240u);
  EXPECT_EQ(tcgen05_matrix(0x2400, 128, 256, Swizzle::none), 0x0000'4010'0008'0240u);
  EXPECT_EQ(tcgen05_matrix(0, 0, 512, Swizzle::of_64_bytes) >> 61, 4u);
  EXPECT_EQ(tcgen05_matrix(0, 0, 256, Swizzle::of_32_bytes) >> 61, 6u);
  for (const auto& [mode, swizzle] : {std::pair{0u, 0u}, {2u, 1u}, {4u, 2u}, {6u, 3u}}) {
    std::string unknown;
    const auto matrix =
        SharedMatrix::of_tcgen05(0x4040'0008'0240u | std::uint64_t{mode} << 61, unknown);
    EXPECT_EQ(unknown, "");
    EXPECT_EQ(matrix.start, 0x2400u);
    EXPECT_EQ(matrix.leading, 128u);
    EXPECT_EQ(matrix.stride, 1024u);
    EXPECT_EQ(matrix.swizzle, swizzle);
  }
  for (const std::uint64_t bad : {std::uint64_t{0x2000'4000'0000'0000u},
                                  std::uint64_t{0x0010'4000'0000'0000u}, std::uint64_t{0}}) {
    std::string unknown;
    SharedMatrix::of_tcgen05(bad, unknown);
    EXPECT_NE(unknown, "") << bad;
  }
}

// "Instruction descriptor": types of sums, a and b from bits 4, 7 and 10 on, columns / 8 from bit
// 17 on, rows / 16 from bit 24 on.
TEST_F(TensorMemoryTest, DescriptorsOfProductsAreThePtxIsas) {
  EXPECT_EQ(tcgen05_instruction(Tcgen05Type::fp16, 128, 256), 0x0840'0010u);
  EXPECT_EQ(tcgen05_instruction(Tcgen05Type::bf16, 128, 256), 0x0840'0490u);
  EXPECT_EQ(tcgen05_instruction(Tcgen05Type::tf32, 128, 64), 0x0810'0910u);
  EXPECT_EQ(tcgen05_instruction(Tcgen05Type::fp8, 64, 256), 0x0440'0010u);
  EXPECT_EQ(tcgen05_instruction(Tcgen05Type::int8, 128, 256), 0x0840'04a0u);
}

TEST_F(TensorMemoryTest, SumsAreOfWhatTheDescriptorsName) {
  EXPECT_EQ(wrong(TensorSlip::none), 0u);
  EXPECT_EQ(last_counts().warpgroup_flops[static_cast<std::size_t>(Tensor::bf16)],
            2.0 * tensor_rows * tensor_columns * tensor_depth);
  EXPECT_EQ(last_counts().at(WarpOperation::matrices), tensor_depth / 16);
  constexpr unsigned most = tensor_rows * tensor_columns * 9 / 10;
  EXPECT_GT(wrong(TensorSlip::no_swizzle), most);
  EXPECT_GT(wrong(TensorSlip::other_swizzle), most);
  EXPECT_GT(wrong(TensorSlip::stride), most);
}

TEST_F(TensorMemoryTest, WhatTheModelDoesNotKnowIsRefused) {
  const std::array<std::pair<TensorSlip, const char*>, 5> slips = {{
      {TensorSlip::constant_bits, "whose constant bits are others"},
      {TensorSlip::other_types, "an instruction descriptor that the model does not know"},
      {TensorSlip::negated, "an instruction descriptor that the model does not know"},
      {TensorSlip::fewer_rows, "tcgen05.mma of 64 x 64 sums, which the model does not know"},
      {TensorSlip::adds_first, "adds to column 0, which nobody has written"},
  }};
  expect_faults(slips, [this](TensorSlip slip) { multiply(slip); });
}

TEST_F(TensorMemoryTest, ColumnsAreAllocatedUsedAndGivenBack) {
  const std::array<std::pair<TensorSlip, const char*>, 8> slips = {{
      {TensorSlip::odd_size, "48 columns (it takes powers of two from 32 to 512)"},
      {TensorSlip::second_allocation, "after tcgen05.relinquish_alloc_permit"},
      {TensorSlip::kept, "not deallocated when its block ends: 64 columns"},
      {TensorSlip::other_columns_freed, "from column 64 on, which no tcgen05.alloc has given"},
      {TensorSlip::freed_early, "tcgen05.ld of columns that are not allocated, from 0 on"},
      {TensorSlip::product_elsewhere, "tcgen05.mma to columns that are not allocated, from 32 on"},
      {TensorSlip::load_elsewhere, "tcgen05.ld of columns that are not allocated, from 256 on"},
      {TensorSlip::other_lanes, "tcgen05.ld of lane 32 and on by warp 0, whose lanes begin with 0"},
  }};
  expect_faults(slips, [this](TensorSlip slip) { multiply(slip); });
}

TEST_F(TensorMemoryTest, NobodyUsesWhatIsUnderWay) {
  const std::array<std::pair<TensorSlip, const char*>, 7> slips = {{
      {TensorSlip::no_wait_for_copies, "and 16-byte load at bytes"},
      {TensorSlip::no_wait_for_commit, "tcgen05.ld of column 0, which nobody has written"},
      {TensorSlip::no_wait_for_load, "which a warp may still be reading by tcgen05.ld"},
      {TensorSlip::other_thread_commits, "which tcgen05.mma may still be writing"},
      {TensorSlip::early_commit, "which tcgen05.mma may still be writing"},
      {TensorSlip::no_hold, "asynchronous copy that has not been waited for"},
      {TensorSlip::early_arrival, "the Tensor Cores may still be reading by tcgen05.mma"},
  }};
  expect_faults(slips, [this](TensorSlip slip) { multiply(slip); });
}

}  // namespace
}  // namespace gpubench::model
