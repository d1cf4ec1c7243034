#include "tests/kernels/data_pipeline_runs.hpp"

namespace gpubench {
namespace {

using namespace data_pipeline;

class DataPipelineKernels : public DataPipelineRuns {};

TEST_F(DataPipelineKernels, TheKernelDecodesBytes) {
  consumed<byte>(3, [](std::size_t i) { return File{}(i); });
}

TEST_F(DataPipelineKernels, TheKernelTakesWhatTheHostDecoded) {
  consumed<float>(3, [](std::size_t i) { return decoded(File{}(i)); });
}

TEST(DataPipelineFile, HoldsManyDifferentBytes) {
  bool seen[256] = {};
  for (std::size_t i = 0; i < 4096; ++i) seen[File{}(i)] = true;
  for (const bool one : seen) EXPECT_TRUE(one);
}

TEST(DataPipelineStages, TheSlowestDecides) {
  constexpr double first = 100e-6 + 10e-6, rest = 12e-6 + 25e-6;
  const auto loop = [](double work, unsigned producers) {
    return loop_seconds({work, producers, 10e-6, 12e-6, 25e-6}, 48);
  };
  EXPECT_DOUBLE_EQ(loop(100e-6, 0), 48 * 110e-6 + rest);
  EXPECT_DOUBLE_EQ(loop(100e-6, 2), 24 * 100e-6 + rest);
  EXPECT_DOUBLE_EQ(loop(100e-6, 8), first + 12e-6 + 48 * 25e-6);
  EXPECT_DOUBLE_EQ(loop_seconds({100e-6, 8, 80e-6, 60e-6, 25e-6}, 48),
                   180e-6 + 47 * 80e-6 + 60e-6 + 25e-6);
}

}  // namespace
}  // namespace gpubench
