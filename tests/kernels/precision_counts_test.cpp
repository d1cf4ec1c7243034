#include "tests/kernels/precision_runs.hpp"

namespace gpubench {
namespace {

using namespace precision;
using model::Access;
using model::Space;

class PrecisionCounts : public PrecisionRuns {
 protected:
  double sectors(Access access) const {
    const auto& counted = counts().at(Space::global, access);
    return static_cast<double>(counted.sectors) / static_cast<double>(counted.requests);
  }
};

TEST_F(PrecisionCounts, ColumnsAreReadSideBySide) {
  sums_of<Pairwise<__nv_bfloat16>>(64, 512);
  EXPECT_EQ(sectors(Access::load), 4);
  EXPECT_EQ(counts().at(Space::global, Access::load).requests, 64 * 512 / 32);
}

TEST_F(PrecisionCounts, PartsAreWrittenSideBySide) {
  split_rows<double, std::int8_t, 8, false>(16, 512);
  EXPECT_EQ(sectors(Access::store), 4);
  EXPECT_EQ(counts().at(Space::global, Access::store).requests, 8 * 16 * 512 / 128);
  split_rows<float, __nv_bfloat16, 2, true>(16, 512);
  EXPECT_EQ(sectors(Access::load), 16);
  EXPECT_EQ(sectors(Access::store), 8);
}

TEST_F(PrecisionCounts, CastsWriteWholeLines) {
  cast_of<__half>(4096, 1);
  EXPECT_EQ(sectors(Access::store), 16);
  EXPECT_EQ(counts().at(Space::global, Access::load).requests, 4096 / 128);
}

}  // namespace
}  // namespace gpubench
