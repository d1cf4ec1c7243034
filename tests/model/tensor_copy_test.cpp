// The copy engine's boxes and the matrices that wgmma reads from them, against what NVIDIA's
// documents say of their layouts, written out here once more.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "harness/cuda/check.hpp"
#include "harness/cuda/tensor_map.hpp"
#include "harness/platform/model/emulator/shared_matrix.hpp"
#include "matrix_descriptor.hpp"
#include "tests/model/bf16_products.hpp"
#include "tests/model/emulator_fixture.hpp"
#include "tests/model/tensor_copy_kernels.hpp"

namespace gpubench::model {
namespace {

using kernels::Slip;

class TensorCopyTest : public EmulatorTest {
 protected:
  RandomBf16s random;
};

// CUDA's guide draws SWIZZLE_128B: of the r-th of eight rows of 128 bytes, piece p of 16 bytes lies
// where p with its bits changed by those of r would.
TEST_F(TensorCopyTest, ABoxLandsSwizzledAndBeyondAnEdgeItIsZero) {
  constexpr unsigned rows = 40, columns = 100, ld = 104;
  const Bf16s matrix = random(rows * ld);
  const auto* from = upload(matrix);
  auto* to = make<unsigned char>(kernels::box_bytes);
  for (const auto& [row, column] : {std::pair{0u, 0u}, {8u, 32u}, {32u, 64u}, {39u, 24u}}) {
    const Counts counts =
        counts_of([&] { kernels::bring_box(to, from, rows, columns, ld, row, column); });
    const auto got = download(to, kernels::box_bytes);
    unsigned present = 0;
    for (unsigned r = 0; r < kernels::box_rows; ++r) {
      present += row + r < rows;
      for (unsigned c = 0; c < 64; ++c) {
        const bool exists = row + r < rows && column + c < columns;
        const float want = exists ? float{matrix[(row + r) * ld + column + c]} : 0.0f;
        __nv_bfloat16 is;
        std::memcpy(&is, &got[r * 128 + (c / 8 ^ r % 8) * 16 + c % 8 * 2], sizeof is);
        ASSERT_EQ(float{is}, want) << row << ' ' << column << ": " << r << ' ' << c;
      }
    }
    // A row is one request; what does not exist is not read.
    EXPECT_EQ(counts.bulk_loads.requests, present);
    EXPECT_EQ(counts.bulk_loads.bytes, present * 2.0 * std::min(64u, columns - column));
  }
}

TEST_F(TensorCopyTest, TheDriverRefusesWhatItsManualDoes) {
  alignas(16) static __nv_bfloat16 somewhere[8];
  const auto map = [](const void* base, std::size_t rows, std::size_t ld, unsigned box) {
    return tensor_map(base, rows, 64, ld, box);
  };
  EXPECT_NO_THROW(map(somewhere, 8, 64, 256));
  EXPECT_THROW(map(somewhere + 1, 8, 64, 8), CudaError);  // 16 bytes
  EXPECT_THROW(map(somewhere, 8, 65, 8), CudaError);      // so is a row
  EXPECT_THROW(map(somewhere, 8, 64, 257), CudaError);
  EXPECT_THROW(map(somewhere, 0, 64, 8), CudaError);
}

// The PTX ISA's canonical layouts for rows along k, in units of 16 bytes: ((8, m), 2) : ((1,
// stride), leading) without a swizzle, and ((8, m), 2) : ((8, stride), 1), 4 and 2 with those of
// 128, 64 and 32 bytes; the swizzles are CUTLASS's Swizzle<3, 4, 3>, <2, 4, 3> and <1, 4, 3> of
// bytes.
TEST_F(TensorCopyTest, DescriptorsAreReadAsThePtxIsaLaysThemOut) {
  const SharedMatrix bits(0x4000'0040'0001'0123u | std::uint64_t{5} << 49);
  EXPECT_EQ(bits.start, 0x1230u);
  EXPECT_EQ(bits.leading, 16u);
  EXPECT_EQ(bits.stride, 1024u);
  EXPECT_EQ(bits.base_offset, 5u);
  EXPECT_EQ(bits.swizzle, 1u);
  constexpr unsigned leading = 4096, stride = 2048;
  const std::array<std::pair<Swizzle, unsigned>, 4> rows = {{{Swizzle::none, 1},
                                                             {Swizzle::of_128_bytes, 8},
                                                             {Swizzle::of_64_bytes, 4},
                                                             {Swizzle::of_32_bytes, 2}}};
  for (const auto& [swizzle, row_pieces] : rows) {
    const SharedMatrix matrix(matrix_descriptor(0x2400, leading, stride, swizzle));
    EXPECT_EQ(matrix.start, 0x2400u);
    for (const unsigned row : {0u, 1u, 7u, 8u, 63u}) {
      const unsigned first = row % 8 * row_pieces * 16 + row / 8 * stride;
      EXPECT_EQ(matrix.offset(row, 0), first);
      EXPECT_EQ(matrix.offset(row, 1), first + (swizzle == Swizzle::none ? leading : 16));
    }
    const unsigned lines = row_pieces - 1;  // of 128 bytes, that change each other's pieces
    for (const unsigned at : {0u, 0x90u, 0x1f0u, 0x380u, 0x3f0u, 0x1250u}) {
      EXPECT_EQ(swizzled(at, matrix.swizzle), at ^ (at >> 7 & lines) << 4);
    }
  }
}

TEST_F(TensorCopyTest, WgmmaReadsWhatTheDescriptorsName) {
  using kernels::product_columns, kernels::product_depth, kernels::product_rows;
  const Bf16s a = random(product_rows * product_depth), b = random(product_columns * product_depth);
  const auto *from_a = upload(a), *from_b = upload(b);
  auto* to = make<float>(product_rows * product_columns);
  const auto wrong = [&](Slip slip) {
    const Counts counts = counts_of([&] { kernels::multiply_boxes(slip, to, from_a, from_b); });
    EXPECT_EQ(counts.warpgroup_flops[static_cast<std::size_t>(Tensor::bf16)],
              2.0 * product_rows * product_columns * product_depth);
    EXPECT_EQ(counts.at(WarpOperation::matrices), 4 * product_depth / 16);
    return wrong_sums(download(to, product_rows * product_columns), a, b, product_depth);
  };
  EXPECT_EQ(wrong(Slip::none), 0u);
  constexpr unsigned most = product_rows * product_columns * 9 / 10;
  EXPECT_GT(wrong(Slip::no_swizzle), most);
  EXPECT_GT(wrong(Slip::other_swizzle), most);
  EXPECT_GT(wrong(Slip::stride), most);
}

TEST_F(TensorCopyTest, AStageIsHeldUntilItsReadersAreDone) {
  const auto* a = upload(random(kernels::product_rows * kernels::product_depth));
  const auto* b = upload(random(kernels::product_columns * kernels::product_depth));
  auto* to = make<float>(kernels::product_rows * kernels::product_columns);
  const std::array<std::pair<Slip, const char*>, 4> slips = {{
      {Slip::no_wait, "race: 8192-byte store of an asynchronous copy"},
      {Slip::early_arrival, "may still be reading by wgmma"},
      {Slip::no_hold, "asynchronous copy that has not been waited for"},
      {Slip::second_arrival, "more arrivals than it expects"},
  }};
  expect_faults(slips, [&](Slip slip) { kernels::multiply_boxes(slip, to, a, b); });
}

}  // namespace
}  // namespace gpubench::model
