// The time model on profiles written down by hand: which term binds, and what it comes to.
#include "harness/platform/model/time/time_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

namespace gpubench::model {
namespace {

class TimeModelTest : public testing::Test {
 protected:
  // A grid that gives every SM the same number of full warps, every block traced.
  KernelProfile even_grid(double blocks_an_sm = 64) const {
    KernelProfile profile;
    profile.blocks = profile.traced_blocks = blocks_an_sm * spec["sm_count"];
    profile.threads_per_block = 256;
    return profile;
  }
  // Reads `sectors` sectors once each, contiguous, by full-warp requests of 4 bytes a lane.
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

// --- distinct things among draws ---

TEST(Draws, ExpectedDistinctMatchesASimulation) {
  std::mt19937_64 random(42);
  for (const std::size_t population : {10u, 1000u, 50000u}) {
    for (const std::size_t draws : {5u, 1000u, 100000u}) {
      std::set<std::uint64_t> met;
      for (std::size_t i = 0; i < draws; ++i) met.insert(random() % population);
      const auto seen = static_cast<double>(met.size());
      EXPECT_NEAR(expected_distinct(static_cast<double>(draws), static_cast<double>(population)),
                  seen, 3 * std::sqrt(seen));
    }
  }
}

TEST(Draws, PopulationIsTheInverse) {
  for (const double population : {10.0, 1e3, 1e6, 1e9}) {
    for (const double share : {0.01, 0.1, 1.0, 3.0}) {
      const double draws = share * population;
      const double distinct = expected_distinct(draws, population);
      EXPECT_NEAR(estimated_population(draws, distinct), population, 1e-6 * population);
    }
  }
}

TEST(Draws, Extremes) {
  EXPECT_TRUE(std::isinf(estimated_population(1000, 1000)));  // nothing met twice
  EXPECT_TRUE(std::isinf(estimated_population(0, 0)));
  EXPECT_NEAR(estimated_population(1e6, 10), 10, 1e-6);  // all of it seen
  EXPECT_EQ(expected_distinct(5, 0), 0);
  EXPECT_NEAR(expected_distinct(1e3, 1e15), 1e3, 1e-6);
}

// --- one term at a time ---

TEST_F(TimeModelTest, NothingToDoTakesTheFloor) {
  const Prediction prediction = cold(even_grid(1));
  EXPECT_EQ(prediction.bound, "launch");
  EXPECT_EQ(prediction.seconds, spec["kernel_floor_seconds"]);
  EXPECT_EQ(prediction.utilisation, 0);
}

TEST_F(TimeModelTest, AStreamIsBoundByDram) {
  const double bytes = 32.0 * many;
  expect_bound(stream(many), "dram",
               bytes / (spec["dram_bytes_per_second"] * spec["dram_read_efficiency"]));
  const Prediction prediction = cold(stream(many));
  EXPECT_DOUBLE_EQ(prediction.utilisation, term(prediction, "dram") / prediction.seconds);
  EXPECT_NEAR(prediction.traffic.dram_read_bytes, bytes, 1e-6 * bytes);
  EXPECT_EQ(prediction.traffic.dram_write_bytes, 0);
  EXPECT_NEAR(prediction.traffic.l2_sectors, many, 1e-6 * many);
  EXPECT_NEAR(prediction.traffic.l1_hit_fraction, 0, 1e-9);
  EXPECT_NEAR(prediction.traffic.l2_hit_fraction, 0, 1e-9);
}

TEST_F(TimeModelTest, ARequestWaitsForItsSlowestSector) {
  KernelProfile aligned = stream(many);
  aligned.waits.load_groups = 1e7;
  // Shifted by a word: a fifth sector each, which the warp before has read.
  KernelProfile shifted = aligned;
  FootprintSums& reads = shifted.footprints[0];
  reads.read_requests += many / 4;
  reads.reuses[2] = {many / 4.0, 4 * many / 4.0};
  reads.read_beside_new = many / 4;
  shifted.counts.at(Space::global, Access::load).sectors += many / 4.0;
  const Prediction got = cold(shifted);
  EXPECT_NEAR(got.traffic.l1_hit_fraction, 0.2, 1e-3);
  EXPECT_NEAR(term(got, "latency"), term(cold(aligned), "latency"), 1e-3 * term(got, "latency"));
  // The same sectors in requests of their own come from L1.
  reads.read_beside_new = 0;
  EXPECT_LT(term(cold(shifted), "latency"), 0.9 * term(got, "latency"));
}

TEST_F(TimeModelTest, WritesHaveTheirOwnEfficiencyAndPartsAreReadFirst) {
  KernelProfile writes = even_grid();
  FootprintSums sums;
  sums.write_requests = sums.write_distinct = sums.write_full = sums.extent = many;
  writes.footprints = {sums};
  const double full = 32.0 * many / spec["dram_bytes_per_second"];
  expect_bound(writes, "dram", full / spec["dram_write_efficiency"]);
  writes.footprints[0].write_full = 0;
  expect_bound(writes, "dram", 2 * full / spec["dram_mixed_efficiency"]);
}

TEST_F(TimeModelTest, BlocksThatWriteTheSameSectorsWriteThemOnce) {
  KernelProfile histogram = even_grid();
  histogram.traced_blocks = histogram.blocks / 100;
  FootprintSums sums;
  sums.write_requests = 1000;
  sums.write_distinct = sums.write_full = sums.extent = 8;
  histogram.footprints = {sums};
  EXPECT_EQ(cold(histogram).traffic.dram_write_bytes, 8 * 32);
}

TEST_F(TimeModelTest, WhatL2HoldsIsBoundByL2) {
  const Prediction warm = predict(stream(many), spec, [](const FootprintSums&) { return 1.0; });
  EXPECT_EQ(warm.bound, "l2");
  EXPECT_NEAR(term(warm, "l2"), 32.0 * many / spec["l2_bytes_per_second"], 1e-12);
  EXPECT_EQ(term(warm, "dram"), 0);
  EXPECT_NEAR(warm.traffic.l2_hit_fraction, 1, 1e-9);
  // Half of it there: half the bytes from DRAM.
  const Prediction half = predict(stream(many), spec, [](const FootprintSums&) { return 0.5; });
  EXPECT_NEAR(half.traffic.dram_read_bytes, 16.0 * many, 1);
}

TEST_F(TimeModelTest, AFetchBringsMoreThanASectorThatStandsAlone) {
  KernelProfile strided = stream(many);
  strided.footprints[0].read_fetches = many;  // every sector alone in its fetch
  EXPECT_NEAR(cold(strided).traffic.dram_read_bytes, spec["dram_fetch_bytes"] * many, 1);
}

TEST_F(TimeModelTest, RepeatedReadsOfFewSectorsAreBoundByL1) {
  KernelProfile repeated = stream(64);
  AccessCounts& loads = repeated.counts.at(Space::global, Access::load);
  const double requests = 1e9;
  loads = {requests, 32 * requests, 128 * requests, 4 * requests,
           requests, requests,      requests,       requests};
  const double sms = spec["sm_count"];
  expect_bound(repeated, "l1",
               cycles(requests / sms *
                      std::max({1 / spec["global_requests_per_clock_per_sm"],
                                tag_banks / spec["l1_tags_per_clock_per_sm"],
                                128 / spec["l1_bytes_per_clock_per_sm"]})));
  // 32 lines a request, eight in each bank of tags: those bind.
  loads.tag_wavefronts = 8 * requests;
  expect_bound(repeated, "l1",
               cycles(requests / sms * 8 * tag_banks / spec["l1_tags_per_clock_per_sm"]));
  // All words in one bank of data.
  loads.wavefronts = 32 * requests;
  expect_bound(repeated, "l1",
               cycles(requests / sms * 32 * 128 / spec["l1_bytes_per_clock_per_sm"]));
}

TEST_F(TimeModelTest, BankConflictsMultiplySharedMemorysTime) {
  KernelProfile profile = even_grid();
  const double requests = 1e9;
  for (const double ways : {1.0, 2.0, 32.0}) {
    profile.counts.at(Space::shared, Access::load) = {
        requests, 32 * requests, 128 * requests, 0, 0, 0, ways * requests, requests};
    expect_bound(
        profile, "shared",
        cycles(ways * requests * 128 / spec["sm_count"] / spec["shared_bytes_per_clock_per_sm"]));
  }
}

TEST_F(TimeModelTest, ArithmeticAndIssue) {
  const double operations = 1e11, an_sm = operations / spec["sm_count"];
  const struct {
    const char* name;
    Arithmetic unit;
    double flops;  // of one operation
    const char* figure;
  } units[] = {
      {"fp32", Arithmetic::fma_fp32, 2, "fp32_flops_per_clock_per_sm"},
      {"fp64", Arithmetic::fma_fp64, 2, "fp64_flops_per_clock_per_sm"},
      {"fp16x2", Arithmetic::fma_fp16x2, 4, "fp16x2_flops_per_clock_per_sm"},
      {"bf16x2", Arithmetic::fma_bf16x2, 4, "bf16x2_flops_per_clock_per_sm"},
      {"int32", Arithmetic::mad_int32, 1, "int32_ops_per_clock_per_sm"},
  };
  for (const auto& unit : units) {
    KernelProfile profile = even_grid();
    profile.counts.add(unit.unit, static_cast<unsigned>(operations / 32), 32);
    const Prediction prediction = cold(profile);
    const double seconds = cycles(unit.flops * an_sm / spec[unit.figure]);
    EXPECT_NEAR(term(prediction, unit.name), seconds, 1e-9 * seconds);
    // The schedulers issue a warp's operation a cycle each: no unit is faster than that.
    EXPECT_NEAR(term(prediction, "issue"), cycles(an_sm / 32 / spec["warp_schedulers_per_sm"]),
                1e-9 * seconds);
    EXPECT_GE(seconds, term(prediction, "issue") * (1 - 1e-9)) << unit.name;
    EXPECT_NEAR(prediction.seconds, seconds + spec["kernel_floor_seconds"], 1e-9 * seconds);
  }
  KernelProfile exchanges = even_grid();
  exchanges.counts.at(WarpOperation::shuffle) = 1e11;
  expect_bound(exchanges, "issue", cycles(an_sm / spec["warp_schedulers_per_sm"]));
  KernelProfile special = even_grid();
  special.counts.special = 1e11;  // of warps
  expect_bound(special, "sfu", cycles(32 * an_sm / spec["sfu_ops_per_clock_per_sm"]));
}

TEST_F(TimeModelTest, AnAsynchronousCopyIsIssuedOnce) {
  KernelProfile copies = even_grid();
  const double count = 1e6;
  copies.counts.at(Space::global, Access::load).requests = count;
  copies.counts.at(Space::shared, Access::store).requests = count;
  const double apart = term(cold(copies), "issue");
  copies.counts.async_copies = copies.counts.async_loads = count;
  EXPECT_NEAR(term(cold(copies), "issue"), apart / 2, 1e-9 * apart);
}

TEST_F(TimeModelTest, MatrixMultiplicationsShareOneUnitAtTheirOwnRates) {
  KernelProfile profile = even_grid();
  const double flops = 1e15;
  profile.counts.warpgroup_flops = {flops, 2 * flops, 3 * flops};
  const double an_sm = flops / spec["sm_count"];
  expect_bound(profile, "tensor",
               cycles(an_sm / spec["tensor_fp16_flops_per_clock_per_sm"] +
                      2 * an_sm / spec["tensor_bf16_flops_per_clock_per_sm"] +
                      3 * an_sm / spec["tensor_tf32_flops_per_clock_per_sm"]));
  // mma.sync gets less of this unit, but in double precision, which has no other instruction.
  profile.counts.warpgroup_flops = {};
  profile.counts.tensor_flops = {0, flops, 0, 0, 0, 5 * flops};
  expect_bound(
      profile, "tensor",
      cycles(an_sm / spec["tensor_bf16_flops_per_clock_per_sm"] / spec["mma_sync_efficiency"] +
             5 * an_sm / spec["tensor_fp64_flops_per_clock_per_sm"]));
}

TEST_F(TimeModelTest, OneWarpThatWaitsForEveryLoad) {
  KernelProfile chase;
  chase.blocks = chase.traced_blocks = 1;
  chase.threads_per_block = 32;
  chase.waits.load_groups = 1e6;
  FootprintSums sums;
  const std::uint64_t loads = 1'000'000;
  sums.read_requests = sums.read_by_block = sums.read_distinct = sums.read_fetches = loads;
  sums.extent = 2 * loads;
  chase.footprints = {sums};
  chase.counts.at(Space::global, Access::load) = {1e6, 1e6, 4e6, 1e6, 1e6, 1e6, 1e6, 1e6};
  // Every load fetches from DRAM; a fetch of more than a sector is no hit.
  const Prediction prediction = cold(chase);
  EXPECT_EQ(prediction.bound, "latency");
  EXPECT_NEAR(prediction.seconds, cycles(1e6 * spec["dram_latency_cycles"]),
              1e-4 * prediction.seconds);
  const Prediction warm = predict(chase, spec, [](const FootprintSums&) { return 1.0; });
  EXPECT_NEAR(warm.seconds, cycles(1e6 * spec["l2_latency_cycles"]), 1e-4 * warm.seconds);
  const Prediction far = predict(chase, spec, [](const FootprintSums&) { return Held(1.0, 0.0); });
  EXPECT_NEAR(far.seconds, cycles(1e6 * spec["l2_far_latency_cycles"]), 1e-4 * far.seconds);
  // The same loads in a chain that only their values show.
  chase.waits.load_groups = 1;
  chase.waits.load_chain = 1e6;
  EXPECT_NEAR(cold(chase).seconds, prediction.seconds, 1e-9 * prediction.seconds);
}

TEST_F(TimeModelTest, LittlesLaw) {
  // Warps that wait side by side cost nothing until an SM is full; then they take turns.
  const auto latency = [&](double blocks_an_sm) {
    KernelProfile profile = even_grid(blocks_an_sm);
    profile.waits.load_groups = 10 * profile.blocks;
    FootprintSums sums;
    sums.read_requests = sums.read_by_block = sums.read_distinct = sums.extent = 1000;
    sums.read_fetches = 500;
    profile.footprints = {sums};
    profile.counts.at(Space::global, Access::load).sectors = 1000;
    return term(cold(profile), "latency");
  };
  const double one = cycles(10 * spec["dram_latency_cycles"]);
  EXPECT_NEAR(latency(1), one, 1e-6 * one);
  EXPECT_NEAR(latency(8), one, 1e-6 * one);  // 8 blocks of 256 threads fill an SM
  const double turnaround = cycles(spec["block_turnaround_cycles"]);
  EXPECT_NEAR(latency(16), 2 * one + turnaround, 1e-6 * one);
  EXPECT_NEAR(latency(80), 10 * one + 9 * turnaround, 1e-6 * one);
}

TEST_F(TimeModelTest, ABusyMemoryMakesLoadsWait) {
  // From a memory that nobody notices to one that is all there is to wait for.
  const auto at = [&](double words_a_thread) {
    KernelProfile profile = stream(static_cast<std::uint64_t>(words_a_thread * (1 << 22)));
    profile.blocks = profile.traced_blocks = 1 << 16;
    profile.waits.load_groups = profile.blocks;
    return cold(profile);
  };
  double before = 0;
  for (const double words : {1.0 / 64, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0}) {
    const Prediction prediction = at(words);
    const double busy = term(prediction, "dram"), waiting = term(prediction, "latency");
    const double queue = term(prediction, "queue");
    const double time = prediction.seconds - spec["kernel_floor_seconds"];
    EXPECT_NEAR(time, std::max(busy, waiting) + queue, 1e-9 * time);
    // Where the memory is busy for a fraction u, each wait is u / (1 - u) queues longer.
    const double waits = waiting * spec["dram_queue_cycles"] /
                         (spec["dram_latency_cycles"] + spec["block_turnaround_cycles"]);
    const double used = busy / time;
    EXPECT_NEAR(time, waiting + waits * used / (1 - used), 0.01 * time);
    EXPECT_GT(time, before);
    before = time;
    EXPECT_LT(queue, 0.5 * time);
  }
  EXPECT_LT(term(at(1.0 / 64), "queue"), 0.01 * at(1.0 / 64).seconds);
  EXPECT_LT(term(at(64), "queue"), 0.02 * at(64).seconds);
}

TEST_F(TimeModelTest, FewerWarpsAreNeverFaster) {
  // As many multiply-adds whichever way, by ever more resident warps: bound by their latency, then
  // by the unit. The launch is paid in both.
  double before = std::numeric_limits<double>::infinity();
  for (const unsigned warps : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
    KernelProfile profile;
    profile.blocks = profile.traced_blocks = 64 / warps * spec["sm_count"];
    profile.threads_per_block = 32 * warps;
    // One block at a time.
    profile.shared_bytes = static_cast<std::size_t>(spec["shared_bytes_per_block_optin"]);
    profile.counts.issued[0] = 2048.0 * 64 * spec["sm_count"];
    profile.waits.fma_steps = 2048 * profile.blocks;
    profile.waits.fma_chain = profile.waits.fma_steps / 4;
    const Prediction prediction = cold(profile);
    EXPECT_LE(prediction.seconds, before * (1 + 1e-9)) << warps;
    EXPECT_GE(prediction.seconds,
              term(prediction, prediction.bound) + spec["kernel_floor_seconds"]);
    before = prediction.seconds;
  }
}

TEST_F(TimeModelTest, ASmallKernelCostsALaunchAndItsWork) {
  KernelProfile little = even_grid(1);
  little.counts.issued[0] = 3e4 * spec["sm_count"];  // more than one launch, and less
  for (const double of_that : {0.5, 0.25}) {
    little.counts.issued[0] *= of_that;
    const Prediction prediction = cold(little);
    EXPECT_NEAR(prediction.seconds, spec["kernel_floor_seconds"] + term(prediction, "fp32"), 1e-15);
  }
}

TEST_F(TimeModelTest, RegistersLimitWhatIsResident) {
  KernelProfile profile = even_grid();
  profile.registers = 128;  // 65536 / 128 threads: two blocks of 256, where eight would fit
  EXPECT_EQ(cold(profile).occupancy.blocks_per_sm, 2u);
  profile.registers = 0;
  EXPECT_EQ(cold(profile).occupancy.blocks_per_sm, 8u);
}

TEST_F(TimeModelTest, MultiplyAddsThatWaitForEachOther) {
  // One block of 8 warps an SM, each with 1000 multiply-adds, 1000 or 250 of them in a row.
  const auto latency = [&](double chain) {
    KernelProfile profile = even_grid(1);
    profile.waits.fma_steps = 1000 * profile.blocks;
    profile.waits.fma_chain = chain * profile.blocks;
    return term(cold(profile), "latency");
  };
  EXPECT_NEAR(latency(1000), cycles(1000 * spec["fp32_latency_cycles"]), 1e-12);
  EXPECT_NEAR(latency(500), cycles(500 * spec["fp32_latency_cycles"]), 1e-12);
  // Independent ones still go through the scheduler's share of the unit: a warp a clock here.
  EXPECT_NEAR(latency(10), cycles(1000), 1e-12);
}

TEST_F(TimeModelTest, AUnitTakesAWarpsOperationWhole) {
  KernelProfile full = even_grid(), divergent = even_grid();
  full.counts.add(Arithmetic::fma_fp32, 1'000'000, 32);
  divergent.counts.add(Arithmetic::fma_fp32, 1'000'000, 1);
  for (const char* name : {"fp32", "issue"}) {
    EXPECT_GT(term(cold(full), name), 0);
    EXPECT_EQ(term(cold(divergent), name), term(cold(full), name));
  }
}

TEST_F(TimeModelTest, CopiesAreUnderWayBesideMultiplyAdds) {
  const auto latency = [&](double alone, double beside, double fmas) {
    KernelProfile profile = even_grid(1);
    profile.waits.load_groups = alone * profile.blocks;
    profile.waits.copy_waits = beside * profile.blocks;
    profile.waits.fma_steps = fmas * profile.blocks;
    return term(cold(profile), "latency");
  };
  const double wait = cycles(spec["dram_latency_cycles"]);
  EXPECT_NEAR(latency(10, 0, 1000), 10 * wait + cycles(1000), 1e-12);
  EXPECT_NEAR(latency(0, 10, 1000), 10 * wait, 1e-12);
  EXPECT_NEAR(latency(0, 10, 100'000), cycles(100'000), 1e-12);
}

TEST_F(TimeModelTest, SpilledRegistersAreLinesOfL1) {
  KernelProfile profile = even_grid();
  const double words = 1e8, an_sm = words / spec["sm_count"];
  profile.local_words = words;
  profile.local_bytes = 16;
  expect_bound(profile, "l1", cycles(an_sm / spec["global_requests_per_clock_per_sm"]));
  EXPECT_EQ(cold(profile).traffic.l2_sectors, 0);
  // Of 2048 threads with twice the cache's bytes between them, half come from L2.
  profile.local_bytes = static_cast<std::size_t>(2 * spec["l1_bytes_per_sm"] / 2048);
  EXPECT_NEAR(cold(profile).traffic.l2_sectors, words * 4 / 2, 1e-6 * words);
}

TEST_F(TimeModelTest, AnUnevenGridWaitsForItsFullestSm) {
  KernelProfile even = even_grid(1), uneven = even_grid(1);
  uneven.blocks = uneven.traced_blocks = even.blocks + 1;
  even.counts.issued[0] = 1e6 * even.blocks;
  uneven.counts.issued[0] = 1e6 * uneven.blocks;
  EXPECT_NEAR(term(cold(uneven), "fp32"), 2 * term(cold(even), "fp32"), 1e-12);
}

TEST_F(TimeModelTest, ASampleScalesToItsGrid) {
  KernelProfile whole = stream(many);
  KernelProfile sample = stream(many / 64);
  sample.blocks = whole.blocks;
  sample.traced_blocks = whole.blocks / 64;
  sample.footprints[0].extent = many;  // both ends were traced
  const Prediction a = cold(whole), b = cold(sample);
  EXPECT_EQ(a.bound, b.bound);
  EXPECT_NEAR(a.seconds, b.seconds, 1e-9 * a.seconds);
}

TEST_F(TimeModelTest, SharedReadsOfASampleAreNotScaledUp) {
  // Every block reads the same 1000 sectors.
  KernelProfile profile = even_grid();
  profile.traced_blocks = profile.blocks / 64;
  FootprintSums sums;
  sums.read_by_block = sums.read_requests =
      static_cast<std::uint64_t>(1000 * profile.traced_blocks);
  sums.read_distinct = sums.extent = 1000;
  sums.read_fetches = 500;
  profile.footprints = {sums};
  EXPECT_NEAR(cold(profile).traffic.dram_read_bytes, 32000, 320);
}

// --- the host's memory ---

TEST_F(TimeModelTest, TheHostsMemoryIsReachedOverItsLink) {
  KernelProfile profile = even_grid();
  profile.host_bytes_read = 16 << 20;
  const double latency = spec["pcie_latency_seconds"];
  const double there = latency + (16 << 20) / spec["pcie_h2d_bytes_per_second"];
  expect_bound(profile, "link", there);
  profile.host_bytes_written = 32 << 20;
  expect_bound(profile, "link", latency + (32 << 20) / spec["pcie_d2h_bytes_per_second"]);
  profile.traced_blocks /= 4;  // of the traced blocks, and as much again of every other
  expect_bound(profile, "link", latency + 4 * (32 << 20) / spec["pcie_d2h_bytes_per_second"]);
}

}  // namespace
}  // namespace gpubench::model
