#include "tests/kernels/data_pipeline_runs.hpp"

namespace gpubench {
namespace {

using namespace data_pipeline;

class DataPipelineCounts : public DataPipelineRuns {};

TEST_F(DataPipelineCounts, BytesTakeAQuarterOfTheSectors) {
  consumed<float>(4, [](std::size_t i) { return decoded(File{}(i)); });
  const auto whole = counts().at(model::Space::global, model::Access::load);
  consumed<byte>(4, [](std::size_t i) { return File{}(i); });
  const auto quarter = counts().at(model::Space::global, model::Access::load);
  EXPECT_EQ(whole.requests, quarter.requests);
  EXPECT_EQ(whole.sectors, 4 * quarter.sectors);
}

}  // namespace
}  // namespace gpubench
