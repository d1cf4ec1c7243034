// Every rung at shapes of its own: ragged where it asks at the edges, else a few whole tiles, no
// two sides of which are equal. And what the laws stand on.
#include "kernels/gemm_ladder.cuh"

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "harness/gemm_row.hpp"
#include "tests/kernels/kernel_test.hpp"

namespace gpubench {
namespace {

using namespace gemm_ladder;

class GemmLadderTest : public KernelTest {
 protected:
  // Of the rungs in fp32. `goes_down`: blocks lie along columns first.
  template <class... P>
  void expect_product(void (*kernel)(P...), const Tiles& tiles, dim3 block, unsigned m, unsigned n,
                      unsigned k, bool goes_down = false) {
    const auto a = input<float>(std::size_t{m} * k), b = input<float>(std::size_t{k} * n);
    const auto d = output<float>(std::size_t{m} * n);
    const unsigned down = (m + tiles.block_m - 1) / tiles.block_m;
    const unsigned across = (n + tiles.block_n - 1) / tiles.block_n;
    const dim3 grid = goes_down ? dim3(down, across) : dim3(across, down);
    if constexpr (sizeof...(P) == 6) {
      launch(kernel, grid, block, 0, nullptr, a.data(), b.data(), d.data(), m, n, k);
    } else {
      launch(kernel, grid, block, 0, nullptr, a.data(), b.data(), d.data(), n, k);
    }
    const GemmShape shape = GemmShape::textbook(GemmType::fp32, m, n, k);
    const auto want = expected_product<float>(shape, values<float>, values<float>);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
    EXPECT_EQ(check_elements(d.data(), d.size(), want, 1e-5, 1e-5, false), "")
        << m << " x " << n << " x " << k;
  }
  // A warp's wavefronts for a multiply-add of its lanes, or instructions.
  double per_fma(double of) const { return of / counts().issues(model::Arithmetic::fma_fp32); }
  const model::AccessCounts& shared(model::Access access) const {
    return counts().at(model::Space::shared, access);
  }
};

TEST_F(GemmLadderTest, WithoutTilesAnyShape) {
  for (const unsigned size : {1u, 31u, 32u, 33u, 61u, 129u, 257u}) {
    expect_product(element_a_thread<false>, naive_tiles, {warp, 8}, size, 67, 33, true);
    expect_product(element_a_thread<false>, naive_tiles, {warp, 8}, 9, size, 1, true);
    expect_product(element_a_thread<true>, coalesced_tiles, 256, 5, size, 33);
    expect_product(element_a_thread<true>, coalesced_tiles, 256, 3, 65, size);
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

// What Step says of a warp's k, and no bank is asked twice.
TEST_F(GemmLadderTest, LoadsForAMultiplyAdd) {
  using model::Access;
  const auto expect = [&](double loads, double wavefronts) {
    EXPECT_DOUBLE_EQ(per_fma(shared(Access::load).requests), loads);
    EXPECT_DOUBLE_EQ(per_fma(shared(Access::load).wavefronts), wavefronts);
    EXPECT_DOUBLE_EQ(shared(Access::store).wavefronts, shared(Access::store).ideal_wavefronts);
  };
  expect_product(shared_tile, shared_tile_tiles, {side, side}, 64, 64, 64);
  expect(2, 2);
  expect_product(register_1d, register_1d_tiles, 256, 128, 64, 64);
  expect(9.0 / 8, 9.0 / 8);
  expect_product(register_2d, tiles_of_128, tile_threads, 128, 128, 64);
  expect(16.0 / 64, 16.0 / 64);
  for (const auto kernel : {vectorised, double_buffered}) {
    expect_product(kernel, tiles_of_128, tile_threads, 128, 128, 64);
    expect(4.0 / 64, 16.0 / 64);
  }
}

TEST_F(GemmLadderTest, TheSlowestOfAStepDecides) {
  const Step step{64, 16, 20, 128};
  EXPECT_DOUBLE_EQ(step_flops(step, {80, 1e9, 1e9}), 64 * 64);
  EXPECT_DOUBLE_EQ(step_flops(step, {1e9, 10, 1e9}), 64 * 64 / 2);
  EXPECT_DOUBLE_EQ(step_flops(step, {1e9, 1e9, 32}), 64 * 64 / 4);
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
      host[row * 96 + column] = want(row * 96 + column);
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
