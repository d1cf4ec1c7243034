// The time model where waiting binds, and grids that do not fill the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tests/model/time_model_fixture.hpp"

namespace gpubench::model {
namespace {

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

TEST_F(TimeModelTest, LoadsWaitForWhatTheyAskAndNotForWhatOthersDo) {
  // Two allocations of as many sectors: one that L2 holds and warps share, one that DRAM brings.
  KernelProfile profile = even_grid();
  profile.waits.load_groups = 1e3 * profile.blocks;
  FootprintSums held, missed;
  held.identity = 1;
  for (FootprintSums* f : {&held, &missed}) {
    f->read_requests = f->read_by_block = f->read_distinct = f->extent = f->read_extents = 1 << 20;
    f->read_fetches = f->read_fetches_by_block = f->read_distinct / 2;
    f->read_lines = f->read_distinct / 4;
  }
  const auto seconds = [&](double sharing) {
    FootprintSums shared = held;
    const double repeats = sharing * static_cast<double>(held.read_by_block);
    shared.read_requests += static_cast<std::uint64_t>(repeats);
    shared.read_with_another = static_cast<std::uint64_t>(repeats);
    shared.reuses[3] = {repeats, 8 * repeats};
    profile.footprints = {shared, missed};
    profile.counts.at(Space::global, Access::load).sectors =
        static_cast<double>(shared.read_requests + missed.read_requests);
    const auto held_of = [](const FootprintSums& f) { return f.identity == 1 ? 1.0 : 0.0; };
    return term(predict(profile, spec, held_of), "latency");
  };
  const double l2 = spec["l2_latency_cycles"], dram = spec["dram_latency_cycles"];
  const double turns = even_grid().blocks / spec["sm_count"] / 8;
  const double turnaround = cycles((turns - 1) * spec["block_turnaround_cycles"]);
  EXPECT_NEAR(seconds(0) - turnaround, cycles(turns * 1e3 * (l2 + dram) / 2), 1e-7);
  EXPECT_NEAR(seconds(31) - turnaround, cycles(turns * 1e3 * (32 * l2 + dram) / 33), 1e-7);
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

TEST_F(TimeModelTest, ABlockThatHasLoadedLastsUntilItsStoresHaveReachedL2) {
  const auto latency = [&](double load_groups, double stores) {
    KernelProfile profile = even_grid(80);
    profile.waits.load_groups = load_groups * profile.blocks;
    profile.counts.at(Space::global, Access::store).requests = stores;
    return term(cold(profile), "latency");
  };
  const double way = cycles(spec["l2_latency_cycles"] / 2);
  EXPECT_NEAR(latency(1, 1) - latency(1, 0), 9 * way, 1e-6 * way);  // ten take turns
  EXPECT_EQ(latency(0, 1), latency(0, 0)) << "in the turnaround, where they are all it does";
}

TEST_F(TimeModelTest, AMemoryIsNotBusyUntilTheFirstLoadIsBack) {
  KernelProfile small = stream(1 << 15);  // 1 MiB: each of the blocks runs at once
  small.blocks = small.traced_blocks = 128;
  small.waits.load_groups = small.blocks;
  const Prediction prediction = cold(small);
  const double fill = cycles(spec["dram_latency_cycles"]), busy = term(prediction, "dram");
  ASSERT_LT(busy, fill);
  EXPECT_NEAR(prediction.seconds, spec["kernel_floor_seconds"] + fill + busy, 1e-12);
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

TEST_F(TimeModelTest, SpilledRegistersAreLinesOfL2) {
  KernelProfile profile = even_grid();
  const double words = 1e8;
  profile.local_words = words;
  profile.local_bytes = 16;
  EXPECT_EQ(cold(profile).traffic.l2_sectors, words * 4);
  EXPECT_EQ(cold(profile).traffic.dram_read_bytes, 0);
  expect_bound(profile, "l2", words * 128 / spec["l2_bytes_per_second"]);
  // When those of all resident threads are twice as many as L2 holds, four of five miss.
  profile.local_bytes = static_cast<std::size_t>(2 * spec["l2_bytes"] / (2048 * spec["sm_count"]));
  const Traffic traffic = cold(profile).traffic;
  EXPECT_NEAR(traffic.dram_read_bytes, 0.797 * words * 128 / 2, 0.01 * words * 128);
  EXPECT_EQ(traffic.dram_read_bytes, traffic.dram_write_bytes);
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
