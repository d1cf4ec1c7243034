// Profiles written down by hand, for the time model.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "harness/platform/model/time/time_model.hpp"

namespace gpubench::model {

class TimeModelTest : public testing::Test {
 protected:
  // A grid that gives every SM the same number of full warps, every block traced.
  KernelProfile even_grid(double blocks_an_sm = 64) const {
    KernelProfile profile;
    profile.blocks = profile.traced_blocks = blocks_an_sm * spec["sm_count"];
    profile.threads_per_block = 256;
    return profile;
  }
  // Reads `sectors` sectors once each, contiguous, by full-warp requests of 4 bytes per lane.
  KernelProfile stream(std::uint64_t sectors) const {
    KernelProfile profile = even_grid();
    FootprintSums sums;
    sums.identity = 1;
    sums.allocation_bytes = sectors * sector_bytes;
    sums.read_requests = sums.read_by_block = sums.read_distinct = sums.extent = sectors;
    const auto a_fetch = static_cast<std::uint64_t>(spec["dram_fetch_bytes"]) / sector_bytes;
    sums.read_fetches = sectors / a_fetch;
    sums.read_lines = sectors / 4;
    sums.read_extents = sectors;
    profile.footprints.push_back(sums);
    AccessCounts& loads = profile.counts.at(Space::global, Access::load);
    const auto s = static_cast<double>(sectors);
    loads = {s / 4, s * 8, s * 32, s, s / 4, s / 4, s / 4, s / 4};
    return profile;
  }
  Prediction cold(const KernelProfile& profile) const {
    return predict(profile, spec, [](const FootprintSums&) { return 0.0; });
  }
  static double term(const Prediction& prediction, const std::string& name) {
    for (const Term& t : prediction.terms) {
      if (t.name == name) return t.seconds;
    }
    ADD_FAILURE() << "no term " << name;
    return 0;
  }
  // `cycles` of one SM, when all do the same.
  double cycles(double count) const { return count / spec["sm_clock_hz"]; }
  void expect_bound(const KernelProfile& profile, const std::string& name, double seconds) const {
    const Prediction prediction = cold(profile);
    EXPECT_EQ(prediction.bound, name);
    EXPECT_NEAR(term(prediction, name), seconds, 1e-9 * seconds);
    EXPECT_NEAR(prediction.seconds, seconds + spec["kernel_floor_seconds"], 1e-9 * seconds);
    for (const Term& t : prediction.terms) EXPECT_LE(t.seconds, seconds * (1 + 1e-9)) << t.name;
  }

  const DeviceSpec spec = device_spec("h200-sxm");
  static constexpr std::uint64_t many = 1 << 25;  // sectors: 1 GiB
};

}  // namespace gpubench::model
