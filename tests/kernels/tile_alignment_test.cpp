// The own multiplication at ragged shapes, the checks that its and the library's rows rest on, and
// the law's arithmetic.
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/tiles.cuh"
#include "tests/kernels/tile_alignment_runs.hpp"

namespace gpubench {
namespace {

using namespace tile_alignment;

class TileAlignmentTest : public TileAlignmentRuns {};

TEST_F(TileAlignmentTest, PredicatedAtRaggedShapes) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  for (const unsigned size : {1u, 31u, 61u, 64u, 65u, 127u, 128u, 129u}) {
    expect_predicated<1>(size, 67, 33);
    expect_predicated<1>(67, size, 1);
    expect_predicated<1>(33, 65, size);
  }
  for (const unsigned k : {8u, 24u, 32u, 40u, 136u}) expect_predicated<8>(65, 127, k);
}

// The first `columns` of `padded` columns are those of `dense`; the others are zero.
template <class Dense>
struct PaddedProduct {
  Dense dense;
  unsigned padded, columns;
  __host__ __device__ Unrounded operator()(std::size_t i) const {
    return i % padded < columns ? dense(i / padded * columns + i % padded) : Unrounded(0);
  }
};

TEST_F(TileAlignmentTest, PaddedWithZerosIsTheSameProduct) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  const unsigned m = 128, n = 61, k = 45, rows = 64, ld = 64;
  const Padded<Generator<element>> of_a{{1}, m, k, ld}, of_b{{2}, n, k, ld};
  const DeviceBuffer<element> a(m * ld), b(rows * ld);
  fill_random(a.data(), a.size(), of_a);
  fill_random(b.data(), b.size(), of_b);
  const auto d = output<float>(m * rows);
  launch(multiply<8, false>, grid(m, rows), threads, 0, nullptr, a.data(), b.data(), d.data(), m,
         rows, ld, ld, ld, rows);
  const GemmShape dense = GemmShape::dense(GemmType::bf16, m, n, k);
  const auto want = expected_product<float>(dense, Generator<element>{1}, Generator<element>{2});
  const auto [relative, absolute] = gemm_tolerance<float>(dense);
  expect_elements(d, PaddedProduct{want, rows, n}, relative, absolute);
}

TEST_F(TileAlignmentTest, PaddingKeepsRowsAndAddsZeros) {
  for (const unsigned k : {1u, 63u, 64u, 257u, 1023u, 1025u}) {
    SCOPED_TRACE(k);
    const auto ld = static_cast<unsigned>(rounded_up(k, 64));
    const auto narrow = input<element>(3 * std::size_t{k});
    const auto wide = output<element>(3 * std::size_t{ld});
    launch(pad_rows, 3, pad_threads, 0, nullptr, narrow.data(), wide.data(), k, ld);
    expect_elements(wide, Padded<Generator<element>>{values<element>, 3, k, ld});
  }
}

TEST_F(TileAlignmentTest, TheCheckOfLargeProductsFindsAWrongElement) {
  // Beyond the size up to which every element is compared; D is what a plain loop leaves.
  const GemmShape shape{GemmType::tf32, 129, 509, 257, 260, 257, 511};
  ASSERT_GT(shape.flops() / 2, compared_whole);
  const auto a = input<float>(shape.m * shape.lda), b = input<float>(shape.n * shape.ldb);
  const auto want = expected_product<float>(shape, values<float>, values<float>);
  std::vector<float> host(shape.m * shape.ldd);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(want(i).value);
  const auto check = [&] {
    const DeviceBuffer<float> d{std::span<const float>(host)};
    return check_product(shape, a.data(), b.data(), d.data(), values<float>, values<float>);
  };
  EXPECT_EQ(check(), "");
  host[77 * shape.ldd + 300] += 3;
  EXPECT_NE(check().find("row 77 fails Freivalds' check"), std::string::npos) << check();
  host[77 * shape.ldd + 300] = NAN;
  EXPECT_NE(check(), "");
  for (float& element : host) element += 1;
  EXPECT_NE(check().find("sampled element"), std::string::npos) << check();
}

TEST_F(TileAlignmentTest, TilesAndWavesAreWhole) {
  EXPECT_DOUBLE_EQ(tiles::useful_share(128, 256, 128, 256, 1), 1);
  EXPECT_DOUBLE_EQ(tiles::useful_share(129, 256, 128, 256, 1), 129.0 / 256);
  EXPECT_DOUBLE_EQ(tiles::useful_share(128 * 133, 256, 128, 256, 132), 133.0 / 264);
  EXPECT_EQ(rounded_up(50257, 64), 50304u);
  EXPECT_EQ(rounded_up(64, 64), 64u);
}

}  // namespace
}  // namespace gpubench
