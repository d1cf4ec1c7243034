#include <cmath>
#include <set>
#include <vector>

#include "tests/kernels/gemm_batch_runs.hpp"

namespace gpubench {
namespace {

using namespace gemm_batch;

class GemmBatch : public GemmBatchRuns {};

TEST_F(GemmBatch, RowsOfAnyNumberAndLength) {
  for (const unsigned n : {1u, 15u, 16u, 17u, 61u}) {
    for (const unsigned k : {8u, 248u, 256u, 264u, 1032u, 2048u}) {
      bf16_gemv<1>(n, k);
      bf16_gemv<2>(n, k);
      bf16_gemv<8>(n, k);
    }
  }
}

TEST_F(GemmBatch, RowsOfFourBits) {
  for (const unsigned n : {1u, 16u, 33u}) {
    for (const unsigned k : {128u, 1024u, 1152u, 4224u}) {
      int4_gemv<1>(n, k);
      int4_gemv<4>(n, k);
      int4_gemv<8>(n, k);
    }
  }
}

TEST_F(GemmBatch, EveryExpertHasItsOwnTokens) {
  for (const bool even : {true, false}) {
    for (const unsigned m : {4u, 8u}) {
      experts<4>({4, m, even}, {17, 264});
      experts<4>({8, m, even}, {16, 256});
      experts<8>({8, m, even}, {33, 128});
    }
  }
  experts<4>({3, 1, true}, {16, 256});
}

// By hand: weight 75 of a row is the fourth of word 2 in the second 16 bytes, and the second of a
// pair: nibble 1 + 4.
TEST_F(GemmBatch, ANibbleIsTheWeightThatTheLayoutSays) {
  constexpr unsigned k = 128, eights = 0x88888888;
  std::vector<std::uint32_t> words(k / word_weights, eights);
  words[6] = 0x88f88888;
  std::vector<__half> numbers;
  for (unsigned i = 0; i < k; ++i) numbers.push_back(static_cast<__half>(static_cast<float>(i)));
  const std::vector<__half> quarter{static_cast<__half>(0.25f)};
  const DeviceBuffer<std::uint32_t> packed{std::span<const std::uint32_t>(words)};
  const DeviceBuffer<__half> x{std::span<const __half>(numbers)},
      scales{std::span<const __half>(quarter)};
  const auto y = output<__half>(1);
  launch(gemv<Int4Weights, 1>, dim3(1, 1), threads, 0, nullptr,
         Int4Weights{reinterpret_cast<const uint4*>(packed.data()), scales.data()}, x.data(),
         y.data(), 1u, k);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << diagnostic;
  EXPECT_EQ(static_cast<float>(y.download()[0]), 75 * 7 * 0.25f);
}

TEST(GemmBatchLayout, EveryWeightHasANibbleOfItsOwn) {
  std::set<std::size_t> taken;
  for (unsigned i = 0; i < 4 * group; ++i) {
    taken.insert(word_of(i) * word_weights + nibble_of(i % word_weights));
  }
  EXPECT_EQ(taken.size(), 4 * group);
  EXPECT_EQ(*taken.rbegin(), 4 * group - 1);
}

TEST(GemmBatchSplit, TokensAddUp) {
  for (const bool even : {true, false}) {
    const Split split{8, 16, even};
    unsigned tokens = 0;
    for (unsigned expert = 0; expert < 8; ++expert) {
      for (unsigned i = 0; i < split.tokens_of(expert); ++i) {
        EXPECT_EQ(split.expert_of(tokens++), expert);
      }
    }
    EXPECT_EQ(tokens, split.tokens());
  }
  EXPECT_EQ((Split{4, 16, false}).tokens_of(2), 4u);
  EXPECT_EQ((Split{4, 16, false}).fullest(), 36u);
}

// 1 TB/s and 200 TFLOP/s: a weight of two bytes takes 2 ps of memory, and 0.01 ps for each token.
TEST(GemmBatchLaw, TheRidgeIsWhereRoofsCross) {
  const Layer wide{1u << 30, 1u << 30};  // of which activations are nothing
  EXPECT_NEAR(ridge(wide, {2, 2, 2}, 1e12, 200e12), 200, 1e-3);
  EXPECT_NEAR(ridge(wide, {0.5, 2, 2}, 1e12, 200e12), 50, 1e-3);
  // Each token of a layer of 100 x 100 brings 400 bytes, and 20,000 FLOPs: never.
  EXPECT_TRUE(std::isinf(ridge({100, 100}, {2, 2, 2}, 1e12, 200e12)));
}

}  // namespace
}  // namespace gpubench
