// The time model: which term binds, and what it comes to.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "tests/model/time_model_fixture.hpp"

namespace gpubench::model {
namespace {

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

TEST_F(TimeModelTest, LoadStoreUnitsTakeRequestsToSharedMemoryToo) {
  KernelProfile profile = even_grid();
  AccessCounts& loads = profile.counts.at(Space::shared, Access::load);
  loads.requests = loads.wavefronts = 1e9;
  profile.counts.at(Space::shared, Access::store).requests = 2e9;  // by no unit of an SM's
  profile.counts.async_copies = profile.counts.bulk_stores = 1e9;
  const double sms = spec["sm_count"];
  expect_bound(profile, "shared", cycles(1e9 / sms));
  DeviceSpec narrow = device_spec("rtx-4090");
  ASSERT_EQ(narrow["global_requests_per_clock_per_sm"], 0.5);
  const auto at_once = [&](double wavefronts) {
    loads.wavefronts = wavefronts;
    profile.blocks = profile.traced_blocks = 64 * narrow["sm_count"];
    const Prediction got = predict(profile, narrow, [](const FootprintSums&) { return 0.0; });
    return term(got, "shared") * narrow["sm_clock_hz"] * narrow["sm_count"];
  };
  EXPECT_NEAR(at_once(1e9), 2e9, 1) << "two cycles each, with half the banks idle";
  EXPECT_NEAR(at_once(2e9), 2e9, 1);
  EXPECT_NEAR(at_once(4e9), 4e9, 1) << "the banks again";
  profile.counts.packed_wavefronts = 1e9;
  EXPECT_NEAR(at_once(4e9), 3e9, 1);
}

TEST_F(TimeModelTest, WritesHaveTheirOwnEfficiencyAndPartsAreReadFirst) {
  KernelProfile writes = even_grid();
  FootprintSums sums;
  sums.write_requests = sums.write_distinct = sums.write_complete = sums.extent = many;
  writes.footprints = {sums};
  const double full = 32.0 * many / spec["dram_bytes_per_second"];
  expect_bound(writes, "dram", full / spec["dram_write_efficiency"]);
  writes.footprints[0].write_complete = 0;
  expect_bound(writes, "dram", 2 * full / spec["dram_mixed_efficiency"]);
}

TEST_F(TimeModelTest, BlocksThatWriteTheSameSectorsWriteThemOnce) {
  KernelProfile histogram = even_grid();
  histogram.traced_blocks = histogram.blocks / 100;
  FootprintSums sums;
  sums.write_requests = 1000;
  sums.write_distinct = sums.write_complete = sums.extent = 8;
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

TEST_F(TimeModelTest, MemoryPaysForEachJump) {
  KernelProfile scattered = stream(many);
  FootprintSums& sums = scattered.footprints[0];
  sums.read_fetches_by_block = sums.read_fetches;
  sums.read_extents = 64 * many;  // each block ranges over more than it reads
  const double straight = term(cold(scattered), "dram");
  sums.read_jumps_by_block = sums.read_fetches / 4;
  const double more = many / 8.0 * spec["dram_jump_bytes"];  // fetches of two sectors
  EXPECT_NEAR(term(cold(scattered), "dram") - straight,
              more / (spec["dram_bytes_per_second"] * spec["dram_read_efficiency"]), 1e-12);
}

TEST_F(TimeModelTest, L2IsHeldUpBySectorsAloneAndByPartsOfSectors) {
  const auto l2 = [&](const KernelProfile& profile) {
    return term(cold(profile), "l2") * spec["l2_bytes_per_second"] / many;  // [B] a sector
  };
  KernelProfile reads = stream(many);
  EXPECT_NEAR(l2(reads), 32, 1e-9);
  reads.footprints[0].read_alone = many / 2;
  EXPECT_NEAR(l2(reads), (32 + spec["l2_fetch_bytes"]) / 2, 1e-9);
  KernelProfile writes = even_grid();
  FootprintSums sums;
  sums.write_requests = sums.write_distinct = sums.write_complete = sums.extent = many;
  sums.write_requests_in_part = many / 4;
  writes.footprints = {sums};
  EXPECT_NEAR(l2(writes), (3 * 32 + spec["l2_partial_write_bytes"]) / 4, 1e-9);
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
  // 32 lines per request, eight in each bank of tags: those bind.
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

}  // namespace
}  // namespace gpubench::model
