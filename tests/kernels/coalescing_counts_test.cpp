#include <algorithm>

#include "tests/kernels/coalescing_runs.hpp"

namespace gpubench {
namespace {

using namespace coalescing;
using model::Access;

class CoalescingCounts : public CoalescingRuns {
 protected:
  double sectors_a_request(Access access) {
    const auto& counted = counts().at(model::Space::global, access);
    return static_cast<double>(counted.sectors) / static_cast<double>(counted.requests);
  }
};

TEST_F(CoalescingCounts, AStrideTouchesASectorMoreForEveryEightWords) {
  for (const unsigned stride : {1u, 2u, 4u, 8u, 16u})
    EXPECT_EQ(sectors(stride), std::min(4 * stride, 32u));
  for (unsigned stride = 1; stride <= 33; ++stride) {
    read_by_stride(stride);
    EXPECT_EQ(sectors_a_request(Access::load), sectors(stride)) << stride;
    write_by_stride(stride);
    EXPECT_EQ(sectors_a_request(Access::store), sectors(stride)) << stride;
  }
}

TEST_F(CoalescingCounts, AShiftedStoreTouchesAFifthSector) {
  for (const unsigned offset : {0u, 1u, 8u, 31u}) {
    write_from(offset, misaligned_write, offset);
    EXPECT_EQ(sectors_a_request(Access::store), offset % 8 == 0 ? 4 : 5) << offset;
  }
}

TEST_F(CoalescingCounts, SharedMemoryMakesRecordsContiguous) {
  read_whole<ArrayOfStructs>(16, read_records<ArrayOfStructs, 16>);
  EXPECT_EQ(sectors_a_request(Access::load), 32);
  read_whole<ArrayOfStructs>(4, read_records_by_vectors<4>);
  EXPECT_EQ(sectors_a_request(Access::load), 16);
  read_whole<ArrayOfStructs>(16, read_records_by_vectors<16>);
  EXPECT_EQ(sectors_a_request(Access::load), 32);
  read_whole<ArrayOfStructs>(16, read_records_through_shared<16>);
  EXPECT_EQ(sectors_a_request(Access::load), 4);
  const auto& handed_out = counts().at(model::Space::shared, Access::load);
  EXPECT_EQ(handed_out.wavefronts, handed_out.requests);
}

}  // namespace
}  // namespace gpubench
