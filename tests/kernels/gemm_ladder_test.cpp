// Every rung at shapes of its own: ragged where it asks at the edges, else a few whole tiles, no
// two sides of which are equal. And what the laws stand on.
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/kernels/gemm_ladder_runs.hpp"

namespace gpubench {
namespace {

using namespace gemm_ladder;

class GemmLadderTest : public GemmLadderRuns {};

TEST_F(GemmLadderTest, WithoutTilesAnyShape) {
  for (const unsigned size : {1u, 31u, 32u, 33u, 61u, 129u, 257u}) {
    expect_product(element_a_thread<false>, naive_tiles, {warp, 8}, size, 67, 33, true);
    expect_product(element_a_thread<false>, naive_tiles, {warp, 8}, 9, size, 1, true);
    expect_product(element_a_thread<true>, coalesced_tiles, {warp, warp}, 5, size, 33, true);
    expect_product(element_a_thread<true>, coalesced_tiles, {warp, warp}, 3, 65, size, true);
  }
}

TEST_F(GemmLadderTest, ATileInSharedMemoryTakesAnyShape) {
  for (const unsigned size : {1u, 31u, 33u, 61u, 127u}) {
    expect_product(shared_tile, shared_tile_tiles, {side, side}, size, 67, 33);
    expect_product(shared_tile, shared_tile_tiles, {side, side}, 33, size, 31);
    expect_product(shared_tile, shared_tile_tiles, {side, side}, 31, 65, size);
  }
}

TEST_F(GemmLadderTest, WholeTilesInRegisters) {
  expect_product(register_1d, register_1d_tiles, 256, 192, 160, 40);
  expect_product(register_1d, register_1d_tiles, 256, 64, 32, 8);
  for (const auto kernel : {register_2d, vectorised, double_buffered}) {
    expect_product(kernel, tiles_of_128, tile_threads, 256, 384, 40);
    expect_product(kernel, tiles_of_128, tile_threads, 384, 128, 8);
    expect_product(kernel, tiles_of_128, tile_threads, 128, 256, 16);
  }
}

TEST_F(GemmLadderTest, Bf16ByMmaSync) {
  if (const std::string why = too_old_for({8, 0}); !why.empty()) GTEST_SKIP() << why;
  if (!has_shared_bytes(mma_sync_parts::shared_bytes)) GTEST_SKIP() << "too little shared memory";
  expect_bf16_product(by_mma, 256, 256, 64);
  expect_bf16_product(by_mma, 128, 256, 256);
}

// Fewer steps than stages, and tiles for one of two blocks; then stages that go round several
// times.
TEST_F(GemmLadderTest, Bf16ByWgmmaAndTma) {
  if (const std::string why = why_no_wgmma(); !why.empty()) GTEST_SKIP() << why;
  expect_bf16_product(by_wgmma, 128, 256, 64);
  expect_bf16_product(by_wgmma, 384, 256, 192);
}

// The same; and blocks with more tiles than tensor memory holds.
TEST_F(GemmLadderTest, Bf16ByTcgen05) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_bf16_product(by_tcgen05, 128, 256, 384);
  expect_bf16_product(by_tcgen05, 384, 256, 192);
  expect_bf16_product(by_tcgen05, 384, 512, 128);
}

// The same of two pairs, whose tiles are twice as high.
TEST_F(GemmLadderTest, Bf16ByTcgen05OfPairs) {
  if (const std::string why = why_no_tcgen05(); !why.empty()) GTEST_SKIP() << why;
  expect_bf16_product(by_tcgen05_pair, 256, 256, 64);
  expect_bf16_product(by_tcgen05_pair, 768, 512, 128);
}

TEST_F(GemmLadderTest, EveryTileHasItsTurnAndNeighboursComeTogether) {
  constexpr unsigned rows = 11, columns = 3;
  std::vector<unsigned> taken(rows * columns);
  for (unsigned i = 0; i < rows * columns; ++i) {
    const auto [row, column] = place_of_tile(i, rows, columns);
    ASSERT_LT(row, rows);
    ASSERT_LT(column, columns);
    ++taken[row * columns + column];
  }
  EXPECT_EQ(taken, std::vector<unsigned>(rows * columns, 1));
  EXPECT_EQ(place_of_tile(7, rows, columns).row, 7u);
  EXPECT_EQ(place_of_tile(8, rows, columns).column, 1u);
  EXPECT_EQ(place_of_tile(24, rows, columns).row, 8u);
}

TEST_F(GemmLadderTest, TheSlowestOfAStepDecides) {
  const Step step{64, 16, 20, 128};
  EXPECT_DOUBLE_EQ(step_flops(step, {80, 1e9, 1e9, 1e9}), 64 * 64);
  EXPECT_DOUBLE_EQ(step_flops(step, {1e9, 8, 1e9, 1e9}), 64 * 64 / 2);
  EXPECT_DOUBLE_EQ(step_flops(step, {1e9, 1e9, 10, 1e9}), 64 * 64 / 2);
  EXPECT_DOUBLE_EQ(step_flops(step, {1e9, 1e9, 1e9, 32}), 64 * 64 / 4);
  EXPECT_DOUBLE_EQ(tile_intensity(naive_tiles, 4), 0.25);
  EXPECT_DOUBLE_EQ(tile_intensity(tiles_of_128, 4), 32);
}

TEST_F(GemmLadderTest, TheCheckOfASampleFindsAWrongElement) {
  const GemmShape shape = GemmShape::textbook(GemmType::fp32, 64, 96, 40);
  const auto want = expected_product<float>(shape, values<float>, values<float>);
  std::vector<float> host(64 * 96);
  std::memset(host.data(), poison_byte, host.size() * sizeof(float));
  const auto check = [&] {
    const DeviceBuffer<float> d{std::span<const float>(host)};
    return check_written_tiles(shape, d.data(), values<float>, values<float>, 32, 32);
  };
  EXPECT_EQ(check(), "nothing was written");
  for (std::size_t row = 32; row < 64; ++row) {
    for (std::size_t column = 32; column < 64; ++column) {
      host[row * 96 + column] = static_cast<float>(want(row * 96 + column).value);
    }
  }
  EXPECT_EQ(check(), "");
  host[40 * 96 + 50] += 1;
  EXPECT_NE(check().find("row 40 fails Freivalds' check"), std::string::npos) << check();
  std::memset(&host[40 * 96 + 50], poison_byte, sizeof(float));
  EXPECT_NE(check(), "");  // a tile with a hole
}

}  // namespace
}  // namespace gpubench
