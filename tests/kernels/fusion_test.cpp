#include <cuda_bf16.h>

#include "tests/kernels/fusion_runs.hpp"

namespace gpubench {
namespace {

using namespace fusion;

// The paper's reference implementation ships these (Random123, kat_vectors).
TEST(Philox, GivesTheKnownAnswers) {
  const auto expect = [](const philox::Words& got, const philox::Words& want) {
    for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(got.of[k], want.of[k]) << k;
  };
  const philox::Words pi{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}};
  expect(philox::words({}, 0, 0), {{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}});
  expect(philox::words<10>({}, 0, 0), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect(philox::words<10>(pi, 0xa4093822, 0x299f31d0),
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Dropout, DropsATenthWhereverOneLooks) {
  constexpr std::size_t n = 1 << 16;
  std::size_t kept[8] = {};
  for (std::size_t i = 0; i < n; ++i) {
    kept[i % 8] += is_kept(philox::at(i / 8, dropout_seed), i) ? 1 : 0;
  }
  for (const std::size_t of_place : kept) {  // 8192 draws each: a standard deviation is 27
    EXPECT_NEAR(static_cast<double>(of_place), 0.9 * n / 8, 110);
  }
}

class Fusion : public FusionRuns {};

TEST_F(Fusion, ChainsOfAnyLengthGiveWhatTheFusedKernelGives) {
  for (const unsigned packs : ragged_sizes) {
    chain_of<float>(packs, 3, 1e-6);
    chain_of<__nv_bfloat16>(packs, 5, 0x1p-8);
  }
}

TEST(FusionLaw, TimeFollowsBytes) {
  constexpr Costs costs{4e12, 10e12, 0};
  constexpr double size = 1e9;
  EXPECT_DOUBLE_EQ(chain_seconds(costs, size, false), 3 * seconds(costs, 3 * size, 3 * size));
  // What stays in L2 is a matter of its bandwidth: 2 + 2 arrays by DRAM, 2 + 2 by L2.
  EXPECT_DOUBLE_EQ(chain_seconds(costs, size, true), 4 * size / 4e12 + 4 * size / 10e12);
}

}  // namespace
}  // namespace gpubench
