// Phases of a block that barriers keep apart, and what overlaps all the same.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/platform/model/emulator/fragment_loads.hpp"
#include "harness/platform/model/emulator/warpgroup_products.hpp"
#include "harness/platform/model/time/load_clock.hpp"
#include "harness/platform/model/time/overlap.hpp"
#include "tests/model/time_model_fixture.hpp"

namespace gpubench::model {
namespace {

TEST(Overlap, OneTakesTurnsAndManyKeepTheBusiestUnitBusy) {
  EXPECT_DOUBLE_EQ(overlapped(30, 10, 1), 30);
  EXPECT_DOUBLE_EQ(overlapped(30, 10, 2), 20);
  EXPECT_NEAR(overlapped(30, 10, 1e6), 10, 1e-4);
  EXPECT_DOUBLE_EQ(overlapped(5, 10, 1), 10) << "no less than the unit needs";
}

class Phases : public TimeModelTest {
 protected:
  // Shared memory and multiply-adds for 10000 cycles of an SM each.
  KernelProfile two_pipes(double barriers_a_warp) const {
    KernelProfile profile = even_grid(1);
    profile.shared_bytes = static_cast<std::size_t>(spec["shared_bytes_per_block_optin"]);
    const double sms = spec["sm_count"], warps = 8;
    profile.counts.at(Space::shared, Access::load).wavefronts =
        10000 * sms * spec["shared_bytes_per_clock_per_sm"] / line_bytes;
    profile.counts.issued[0] = 10000 * sms * spec["fp32_flops_per_clock_per_sm"] / 64;
    profile.counts.barriers = barriers_a_warp * warps * sms;
    return profile;
  }
};

TEST_F(Phases, OverlapWithoutBarriers) {
  const Prediction prediction = cold(two_pipes(0));
  EXPECT_EQ(term(prediction, "phases"), 0);
  EXPECT_NEAR(prediction.seconds, cycles(10000) + spec["kernel_floor_seconds"], 1e-9);
}

TEST_F(Phases, FollowEachOtherWhereBarriersKeepThemApart) {
  const double alone = cold(two_pipes(0)).seconds, few = cold(two_pipes(1)).seconds,
               hundred = cold(two_pipes(100)).seconds;
  EXPECT_GT(few, alone);
  EXPECT_GT(hundred, few);
  // Both pipes in turn, and what a hundred barriers cost.
  EXPECT_NEAR(hundred - spec["kernel_floor_seconds"], cycles(20000 + 100 * (60 + 29)),
              cycles(2000));
}

TEST_F(Phases, ABlockBesideUsesWhatOneLeaves) {
  KernelProfile one = two_pipes(100), two = one;
  two.blocks = two.traced_blocks = 2 * one.blocks;
  two.shared_bytes /= 2;  // two fit
  two.counts = one.counts.scaled(2);
  EXPECT_LT(cold(two).seconds, 1.9 * cold(one).seconds);
}

TEST_F(Phases, CopiesComeBesideTheArithmetic) {
  KernelProfile waits = two_pipes(100), copies = waits;
  copies.counts.copied_wavefronts = copies.counts.at(Space::shared, Access::load).wavefronts;
  const double floor = spec["kernel_floor_seconds"];
  EXPECT_GT(cold(waits).seconds - floor, 1.4 * (cold(copies).seconds - floor));
}

TEST_F(Phases, ProductsThatWarpsAwaitTakeTurns) {
  KernelProfile beside = two_pipes(1);
  const auto bf16 = static_cast<std::size_t>(Tensor::bf16);
  beside.counts.warpgroup_flops[bf16] =
      10000 * spec["sm_count"] * spec["tensor_bf16_flops_per_clock_per_sm"];
  KernelProfile awaited = beside;
  awaited.counts.awaited_flops = beside.counts.warpgroup_flops;
  awaited.counts.awaiting_warps = beside.counts.barriers;  // all warps do
  EXPECT_GT(cold(awaited).seconds, cold(beside).seconds + cycles(3000));
  // With one warpgroup, the others only bring tiles: nothing overlaps.
  KernelProfile alone = awaited;
  alone.counts.awaiting_warps /= 2;
  EXPECT_GT(cold(alone).seconds, cycles(30000));
}

TEST_F(Phases, MaximaAndConversionsTakeTheirTurn) {
  KernelProfile without = two_pipes(100), with = without;
  const double sms = spec["sm_count"], lanes_a_cycle = 64;
  for (const Arithmetic unit : {Arithmetic::max_fp32, Arithmetic::pack_16x2}) {
    with.counts.issued[static_cast<std::size_t>(unit)] = 2500 * sms * lanes_a_cycle / warp_lanes;
  }
  EXPECT_NEAR(cold(with).seconds, cold(without).seconds + cycles(5000), cycles(500));
}

TEST_F(Phases, ABlockGivesWayToTheNext) {
  KernelProfile one = two_pipes(100), ten = one;
  ten.blocks = ten.traced_blocks = 10 * one.blocks;
  ten.counts = one.counts.scaled(10);
  const double floor = spec["kernel_floor_seconds"];
  EXPECT_NEAR(cold(ten).seconds - floor,
              10 * (cold(one).seconds - floor) + cycles(9 * spec["block_turnaround_cycles"]), 1e-9);
}

TEST_F(Phases, NobodyElseUsesAUnitWhileTheOnlyBlockGivesWay) {
  KernelProfile one = two_pipes(1), ten = one;
  // One unit is busy for longer than all that a block does in turn.
  one.counts.warpgroup_flops[static_cast<std::size_t>(Tensor::bf16)] =
      50000 * spec["sm_count"] * spec["tensor_bf16_flops_per_clock_per_sm"];
  ten.blocks = ten.traced_blocks = 10 * one.blocks;
  ten.counts = one.counts.scaled(10);
  EXPECT_NEAR(cold(ten).seconds - spec["kernel_floor_seconds"],
              cycles(10 * (50000 + 60 + 29) + 9 * spec["block_turnaround_cycles"]), 1e-9);
}

TEST_F(Phases, AwaitTheFirstOfTheCopies) {
  KernelProfile none = two_pipes(100), copies = none;
  copies.waits.copy_waits = 4 * copies.traced_blocks;  // hidden, but for the first
  EXPECT_NEAR(cold(copies).seconds - cold(none).seconds, cycles(spec["dram_latency_cycles"]),
              1e-12);
  // Where all that they take is longer than the work, the first one is a part of that.
  copies.waits.copy_waits = 10000 * copies.traced_blocks;
  const double barriers = 100 * (60 + 29);
  EXPECT_NEAR(cold(copies).seconds - spec["kernel_floor_seconds"],
              cycles(10000 * spec["dram_latency_cycles"] + barriers), 1e-9);
}

TEST(WarpgroupProducts, AreAwaitedIfNothingWasComputedBeside) {
  const auto bf16 = static_cast<std::size_t>(Tensor::bf16);
  BlockResult result;
  WarpgroupProducts products;
  products.start(Tensor::bf16, 3);
  products.commit(0);
  products.start(Tensor::bf16, 4);
  products.commit(0);
  products.wait(1, 0, result);
  EXPECT_EQ(result.awaited_flops[bf16], 3u) << "the second group is still under way";
  products.wait(0, 1, result);
  EXPECT_EQ(result.awaited_flops[bf16], 3u) << "something was computed beside it";
  EXPECT_EQ(result.awaiting_warps, 1u);
}

TEST(FragmentLoads, AreAheadIfProductsLieBetween) {
  unsigned a[4] = {}, b[4] = {};
  FragmentLoads loads;
  loads.load(a);
  loads.load(b);
  EXPECT_EQ(loads.multiply(a, 16, b, 16), 0u) << "of this very step";
  EXPECT_EQ(loads.multiply(a, 16, b, 16), 0u) << "used before";
  loads.load(a);
  unsigned other[4] = {};
  loads.multiply(other, 16, other, 16);
  loads.multiply(other, 16, other, 16);
  EXPECT_EQ(loads.multiply(a, 16, other, 16), 1u);
}

TEST(LoadClock, FallsWithTheLoadAndOnlyWhereAFileSaysSo) {
  const DeviceSpec limited = device_spec("h100-sxm"), unlimited = device_spec("a100-80-sxm");
  const double at = library_tensor_share(limited);
  EXPECT_DOUBLE_EQ(load_clock(limited, Load::tensor, at), limited["gemm_clock_hz"]);
  EXPECT_LT(load_clock(limited, Load::tensor, 1), limited["gemm_clock_hz"]);
  EXPECT_EQ(load_clock(limited, Load::tensor, at / 8), limited["sm_clock_hz"]);
  EXPECT_EQ(load_clock(unlimited, Load::tensor, 1), unlimited["sm_clock_hz"]);
}

TEST_F(Phases, AKernelOnLittleDataKeepsTheMaximumClock) {
  const DeviceSpec limited = device_spec("rtx-a6000");
  const double issued = 1e6 * limited["sm_count"];
  KernelProfile registers = stream(1 << 20), shared = even_grid();
  registers.counts.issued[0] = shared.counts.issued[0] = issued;
  shared.counts.at(Space::shared, Access::load).wavefronts = issued / 4;
  KernelProfile fed = registers;
  fed.counts.at(Space::shared, Access::load) = shared.counts.at(Space::shared, Access::load);
  const auto predicted = [&](const KernelProfile& profile) {
    return predict(profile, limited, [](const FootprintSums&) { return 0.0; });
  };
  const Prediction alone = predicted(registers);
  EXPECT_GT(term(alone, "l2") / alone.seconds, 0.05);
  const double share = std::ceil(registers.blocks / limited["sm_count"]) / registers.blocks;
  EXPECT_NEAR(term(alone, "fp32"),
              issued * 64 * share / limited["fp32_flops_per_clock_per_sm"] / limited["sm_clock_hz"],
              1e-9);
  EXPECT_DOUBLE_EQ(term(predicted(shared), "fp32"), term(alone, "fp32"));
  EXPECT_GT(term(predicted(fed), "fp32"), 1.1 * term(alone, "fp32"));
}

}  // namespace
}  // namespace gpubench::model
