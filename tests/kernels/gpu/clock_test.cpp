// What a kernel learns from the SM's clock, which the model does not have.
#include <algorithm>
#include <vector>

#include "tests/kernels/memory_hierarchy_runs.hpp"

namespace gpubench {
namespace {

class Clock : public MemoryHierarchyRuns {};

TEST_F(Clock, EveryLineOfL2TakesAtLeastWhatItsDistanceDoes) {
  using namespace memory_hierarchy;
  const auto words = ring_of(lines_timed, 1);
  const auto cycles = output<float>(lines_timed);
  launch(line_latencies, 1, 1, 0, nullptr, links(words), cycles.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<float> got = cycles.download();
  const auto [least, most] = std::minmax_element(got.begin(), got.end());
  // L1 answers in some 30 cycles, DRAM in some 600 and more: this is neither.
  EXPECT_GT(*least, 60);
  EXPECT_LT(*most, 2000);
}

}  // namespace
}  // namespace gpubench
