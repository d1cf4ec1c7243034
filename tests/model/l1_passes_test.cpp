// Passes of L1 as profilers counted them, and the cycles they took, against the model's
// (tests/data/l1_passes.json): the words by banks are exact; so is the time, once the passes are
// given; which lines share a bank of tags is a guess.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/platform/model/emulator/counts.hpp"
#include "harness/platform/model/time/time_model.hpp"

namespace gpubench::model {
namespace {

constexpr unsigned l1_threads = 1024, loads_a_lane = 8;
constexpr unsigned pitch = 4098;

// The word that a thread of the published kernels reads first.
std::uint64_t first_word(const std::string& pattern, unsigned argument, unsigned thread) {
  if (pattern == "stride") return std::uint64_t{thread % 64} * argument;
  const unsigned x = thread % argument, y = thread / argument;
  return x % 64 + (y % 32 + 1) * std::uint64_t{pitch};
}

struct Passes {
  double data = 0, tags = 0;  // of a load, on average
};

Passes counted(const std::string& pattern, unsigned bytes, unsigned argument) {
  Passes sum;
  for (unsigned warp = 0; warp < l1_threads; warp += 32) {
    for (unsigned k = 0; k < loads_a_lane; ++k) {
      WarpRequest request{};
      request.event = make_event(nullptr, EventKind::load, bytes);
      request.lanes = ~0u;
      for (unsigned lane = 0; lane < 32; ++lane) {
        request.address[lane] = bytes * (first_word(pattern, argument, warp + lane) + 4 * k);
      }
      sum.data += wavefronts_of(request);
      sum.tags += sectors_of(request).tag_wavefronts;
    }
  }
  constexpr double requests = l1_threads / 32.0 * loads_a_lane;
  return {sum.data / requests, sum.tags / requests};
}

// Cycles of an SM for a load of so many passes.
double modelled_cycles(const DeviceSpec& device, const Passes& passes) {
  constexpr double requests = 1e6;
  KernelProfile profile;
  profile.blocks = profile.traced_blocks = 1;
  profile.threads_per_block = l1_threads;
  AccessCounts& of = profile.counts.at(Space::global, Access::load);
  of.requests = requests;
  of.wavefronts = requests * passes.data;
  of.tag_wavefronts = requests * passes.tags;
  const Prediction prediction = predict(profile, device, [](const FootprintSums&) { return 0.0; });
  for (const Term& term : prediction.terms) {
    if (term.name == "l1") return term.seconds * device["sm_clock_hz"] / requests;
  }
  return 0;
}

TEST(L1Passes, AreAsProfilersCountedThem) {
  const auto file = nlohmann::json::parse(
      std::ifstream(std::string(GPUBENCH_SOURCE_DIR) + "/tests/data/l1_passes.json"));
  double guessed = 0;
  int points = 0, within = 0;
  for (const auto& curve : file.at("curves")) {
    const DeviceSpec device = device_spec(curve.at("device").get<std::string>());
    for (const auto& row : curve.at("rows")) {
      const std::string pattern = row.at(0);
      const unsigned bytes = row.at(1), argument = row.at(2);
      const double cycles = row.at(3);
      const Passes published{row.at(4), row.at(5)};
      SCOPED_TRACE(device.name() + ' ' + pattern + ' ' + std::to_string(argument) + " of " +
                   std::to_string(bytes) + " bytes");
      const Passes ours = counted(pattern, bytes, argument);
      EXPECT_EQ(ours.data, published.data);
      EXPECT_NEAR(modelled_cycles(device, published), cycles, 0.02 * cycles);
      const double error = modelled_cycles(device, ours) / cycles - 1;
      EXPECT_LT(std::abs(error), 0.12);
      guessed += std::abs(error);
      within += std::abs(error) <= 0.02;
      ++points;
    }
  }
  EXPECT_EQ(points, 190);
  EXPECT_LT(guessed / points, 0.02);
  EXPECT_GE(within, 133);
}

}  // namespace
}  // namespace gpubench::model
