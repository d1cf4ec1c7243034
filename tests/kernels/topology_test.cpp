#include "tests/kernels/topology_runs.hpp"

namespace gpubench {
namespace {

using topology::agreement;
using topology::copy_seconds;

TEST(Topology, AMeasurementAgreesWithTheReportOrSaysWhyNot) {
  constexpr double pcie = 55e9;
  EXPECT_EQ(agreement("NVLink", 390e9, pcie), "yes");
  EXPECT_EQ(agreement("NVLink", 40e9, pcie),
            "no: the driver reports NVLink, and it is slower than PCIe");
  EXPECT_EQ(agreement("PCIe (one switch)", 50e9, pcie), "yes");
  EXPECT_EQ(agreement("PCIe (host bridge)", 390e9, pcie),
            "no: the driver reports PCIe, and it is faster than that");
  EXPECT_EQ(agreement("", 390e9, pcie), "") << "nobody said anything to agree with";
}

TEST(Topology, OnOneGpuEveryByteIsReadAndWritten) {
  EXPECT_DOUBLE_EQ(copy_seconds(100, true, 1, 50, 10), 1 + 4);
  EXPECT_DOUBLE_EQ(copy_seconds(100, false, 1, 50, 10), 1 + 10);
}

class TopologyKernels : public TopologyRuns {};

TEST_F(TopologyKernels, WhoWasLetMayFetch) { fetch_from_a_peer(); }

}  // namespace
}  // namespace gpubench
