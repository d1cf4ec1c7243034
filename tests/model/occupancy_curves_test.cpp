// The time model against published curves of bandwidth by resident threads
// (tests/data/occupancy_curves.json). Device files took a figure each from the low end of `init`
// (block_turnaround_cycles) and from `read` (dram_queue_cycles); scale and triad are held out.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/platform/model/time/time_model.hpp"

namespace gpubench::model {
namespace {

constexpr double copied_words = 1 << 27, word_bytes = 8;

// One word of each array a thread, `an_sm` blocks of `block` threads on an SM at once.
double modelled_bandwidth(const DeviceSpec& device, unsigned block, unsigned an_sm, unsigned reads,
                          unsigned writes) {
  KernelProfile profile;
  profile.blocks = profile.traced_blocks = copied_words / block;
  profile.threads_per_block = block;
  profile.shared_bytes = static_cast<std::size_t>(device["shared_bytes_per_sm"] / an_sm -
                                                  device["shared_reserved_bytes_per_block"]);
  const double warps = profile.blocks * std::ceil(block / 32.0);
  const auto sectors = static_cast<std::uint64_t>(copied_words * word_bytes / sector_bytes);
  for (unsigned array = 0; array < reads + writes; ++array) {
    FootprintSums sums;
    sums.extent = sectors;
    if (array < reads) {
      sums.read_requests = sums.read_by_block = sums.read_distinct = sectors;
      sums.read_fetches =
          sectors * sector_bytes / static_cast<std::uint64_t>(device["dram_fetch_bytes"]);
    } else {
      sums.write_requests = sums.write_distinct = sums.write_complete = sectors;
    }
    profile.footprints.push_back(sums);
    AccessCounts& of =
        profile.counts.at(Space::global, array < reads ? Access::load : Access::store);
    const auto s = static_cast<double>(sectors);
    of += {warps, copied_words, copied_words * word_bytes, s, s / 4, 0, 0};
  }
  profile.waits.load_groups = reads > 0 ? profile.blocks : 0;
  const Prediction prediction = predict(profile, device, [](const FootprintSums&) { return 0.0; });
  EXPECT_EQ(prediction.occupancy.blocks_per_sm, an_sm);
  return copied_words * word_bytes * (reads + writes) / prediction.seconds;
}

TEST(OccupancyCurves, EveryPointIsWithinAQuarter) {
  const auto file = nlohmann::json::parse(
      std::ifstream(std::string(GPUBENCH_SOURCE_DIR) + "/tests/data/occupancy_curves.json"));
  std::map<std::string, std::pair<double, int>> errors;  // by kernel: their sum, and how many
  for (const auto& curve : file.at("curves")) {
    const DeviceSpec device = device_spec(curve.at("device").get<std::string>());
    const unsigned triad_reads = curve.at("triad_reads");
    const struct {
      const char* name;
      unsigned reads, writes;
    } kernels[] = {{"init", 0, 1}, {"read", 1, 0}, {"scale", 1, 1}, {"triad", triad_reads, 1}};
    for (const auto& row : curve.at("rows")) {
      for (std::size_t k = 0; k < 4; ++k) {
        const double published = row.at(2 + k);
        const double modelled =
            modelled_bandwidth(device, row.at(0), row.at(1), kernels[k].reads, kernels[k].writes);
        const double error = published / modelled - 1;  // of the time
        EXPECT_LT(std::abs(error), 0.25) << device.name() << ' ' << kernels[k].name << ", "
                                         << row.at(1) << " blocks of " << row.at(0);
        auto& [sum, count] = errors[kernels[k].name];
        sum += std::abs(error);
        ++count;
      }
    }
  }
  for (const auto& [kernel, error] : errors) {
    const double mean = error.first / error.second;
    RecordProperty(kernel, std::to_string(mean));
    const bool fitted = kernel == "init" || kernel == "read";
    EXPECT_LT(mean, fitted ? 0.06 : 0.10) << kernel;
    EXPECT_GT(error.second, 100) << kernel;
  }
}

}  // namespace
}  // namespace gpubench::model
