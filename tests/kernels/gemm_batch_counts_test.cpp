#include "tests/kernels/gemm_batch_runs.hpp"

namespace gpubench {
namespace {

using namespace gemm_batch;
using model::Access;
using model::Arithmetic;
using model::Space;

class GemmBatchCounts : public GemmBatchRuns {
 protected:
  const model::AccessCounts& loads() const { return counts().at(Space::global, Access::load); }
};

// A warp's load is 512 bytes side by side; those of activations serve all rows of the warp.
TEST_F(GemmBatchCounts, WeightsAreReadOnceInWholeLines) {
  constexpr unsigned n = 64, k = 2048, of_a_row = k * sizeof(Bf16) / 512;
  bf16_gemv<1>(n, k);
  EXPECT_EQ(loads().requests, n * of_a_row + n / rows * of_a_row);
  EXPECT_EQ(loads().sectors, 16 * loads().requests);
  EXPECT_EQ(counts().issues(Arithmetic::fma_fp32), n * k / warp);
  bf16_gemv<8>(n, k);
  EXPECT_EQ(loads().requests, n * of_a_row + 8 * n / rows * of_a_row);
  EXPECT_EQ(counts().issues(Arithmetic::fma_fp32), 8 * n * k / warp);
}

// 1024 weights are a warp's load, a load of eight scales and, for the rows of the warp, four loads
// of activations.
TEST_F(GemmBatchCounts, FourBitsAreReadOnceWithTheirScales) {
  constexpr unsigned n = 64, k = 2048, loads_of_a_row = k / 1024;
  int4_gemv<1>(n, k);
  EXPECT_EQ(loads().requests, n * loads_of_a_row * (1 + 1) + n / rows * loads_of_a_row * 4);
  EXPECT_EQ(loads().sectors, n * loads_of_a_row * (16 + 1) + n / rows * loads_of_a_row * 4 * 16);
  // A pair takes an operation to be a pair, and one for each token.
  EXPECT_EQ(counts().issues(Arithmetic::fma_fp16x2), n * k / 2 * 2 / warp);
  int4_gemv<4>(n, k);
  EXPECT_EQ(counts().issues(Arithmetic::fma_fp16x2), n * k / 2 * 5 / warp);
}

TEST_F(GemmBatchCounts, ABlockWritesWholeSectors) {
  bf16_gemv<1>(64, 256);
  const auto& stores = counts().at(Space::global, Access::store);
  EXPECT_EQ(stores.requests, 64u);
  EXPECT_EQ(stores.sectors, stores.requests);
}

}  // namespace
}  // namespace gpubench
