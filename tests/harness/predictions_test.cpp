// The model beside a measurement. There is no GPU here: a model device stands in for what is
// measured, which the model that predicts cannot tell.
#include "harness/program/predictions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/system/cores.hpp"

namespace gpubench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Beside : public testing::Test {
 protected:
  Beside() { options_.filter = "^bank_conflicts/strided/bytes:4/stride:[12]$"; }
  ~Beside() override { stay_on(cpus_); }

  static Row measured(const std::string& name) {
    Row row;
    row.name = name;
    row.median_seconds = 1e-3;
    return row;
  }

  const std::vector<int> cpus_ = allowed_cpus();
  const std::unique_ptr<Platform> platform_ = open_platform("h200-sxm");
  const std::filesystem::path model_ =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("gpubench-model");
  Options options_;
};

TEST_F(Beside, EveryRowGetsItsPrediction) {
  Predictions predictions(options_, *platform_, model_);
  predictions.finish();
  for (const char* stride : {"1", "2"}) {
    Row row = measured(std::string("bank_conflicts/strided/bytes:4/stride:") + stride);
    predictions.complete(row);
    EXPECT_GT(row.counters["model_seconds"], 0) << stride;
    EXPECT_EQ(row.bound, "shared");
    EXPECT_EQ(row.counters["wavefronts_per_request"], std::stod(stride));
    EXPECT_FALSE(row.terms.empty());
    EXPECT_EQ(row.median_seconds, 1e-3);
  }
}

TEST_F(Beside, WhatTheRowKnowsByItselfStays) {
  Predictions predictions(options_, *platform_, model_);
  predictions.finish();
  Row row = measured("bank_conflicts/strided/bytes:4/stride:1");
  row.bound = "host";
  row.counters["occupancy"] = 0.125;
  predictions.complete(row);
  EXPECT_EQ(row.bound, "host");
  EXPECT_EQ(row.counters["occupancy"], 0.125);
  const std::size_t terms = row.terms.size();
  predictions.complete(row);
  EXPECT_EQ(row.terms.size(), terms);
}

TEST_F(Beside, OtherRowsAndThoseWithoutATimeHaveNone) {
  Predictions predictions(options_, *platform_, model_);
  predictions.finish();
  Row other = measured("bank_conflicts/strided/bytes:4/stride:3"),
      skipped = measured("bank_conflicts/strided/bytes:4/stride:1");
  skipped.outcome = Outcome::skipped;
  predictions.complete(other);
  predictions.complete(skipped);
  EXPECT_THAT(other.counters, IsEmpty());
  EXPECT_THAT(skipped.counters, IsEmpty());
}

TEST_F(Beside, RowsOfTheUsersOwnArePredictedToo) {
  options_.filter.clear();
  options_.axes.push_back(parse_axis("coalescing/misaligned_read/offset=5"));
  Predictions predictions(options_, *platform_, model_);
  predictions.finish();
  Row row = measured("coalescing/misaligned_read/offset:5");
  predictions.complete(row);
  EXPECT_GT(row.counters["model_seconds"], 0);
}

TEST_F(Beside, TheModelHasCoresOfItsOwn) {
  if (!share(cpus_, core_of)) GTEST_SKIP() << "one core";
  const Predictions predictions(options_, *platform_, model_);
  EXPECT_EQ(allowed_cpus(), share(cpus_, core_of)->own);
}

TEST_F(Beside, NothingWaitsForIt) {
  options_.filter = "^coalescing/";  // takes the model minutes
  Predictions predictions(options_, *platform_, model_);
  Row row = measured("coalescing/gather/window:32");
  predictions.complete(row);
  EXPECT_THAT(row.counters, IsEmpty());
}

TEST_F(Beside, AModelThatIsNotThereIsOneLineAndNoPrediction) {
  testing::internal::CaptureStderr();
  Predictions predictions(options_, *platform_, "/nonexistent/gpubench-model");
  predictions.finish();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gpubench: no prediction: gpubench-model was not built\n");
  EXPECT_EQ(allowed_cpus(), cpus_);
}

TEST_F(Beside, AModelThatFailsIsOneLineAndNoPrediction) {
  options_.filter = "[";
  Predictions predictions(options_, *platform_, model_);
  testing::internal::CaptureStderr();
  predictions.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("gpubench: no prediction: gpubench-model ended with exit code 2: "));
  EXPECT_THAT(said, HasSubstr("--benchmark_filter='['"));
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
}

}  // namespace
}  // namespace gpubench
