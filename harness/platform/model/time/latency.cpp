#include <algorithm>
#include <cmath>

#include "harness/platform/model/time/kernel_on_device.hpp"

namespace gpubench::model {

double load_latency(const Traffic& traffic, const DeviceSpec& device) {
  const double l1_hit = traffic.l1_wait_fraction;
  const double l2_hit = traffic.l2_wait_fraction;
  const double near_latency = device["l2_latency_cycles"];
  const double l2_latency =
      std::lerp(near_latency, device.find("l2_far_latency_cycles").value_or(near_latency),
                traffic.l2_far_fraction);
  return l1_hit * device["l1_latency_cycles"] +
         (1 - l1_hit) * (l2_hit * l2_latency + (1 - l2_hit) * device["dram_latency_cycles"]);
}

namespace {

// A warp gets through its multiply-adds no faster than its scheduler's share of the unit takes
// them, or one a latency where they depend on each other.
double multiply_add_cycles(const Waiting& waits, const DeviceSpec& device) {
  const double each =
      2.0 * warp_lanes * device["warp_schedulers_per_sm"] / device["fp32_flops_per_clock_per_sm"];
  return std::max(waits.fma_chain * device.find("fp32_latency_cycles").value_or(0),
                  waits.fma_steps * each);
}

// One way of a round trip to L2. What a block that only stores waits for is in the turnaround,
// which was taken from such blocks.
double store_cycles(const KernelOnDevice& kernel) {
  const bool stores =
      kernel.global(Access::store).requests + kernel.global(Access::atomic).requests > 0;
  const bool loads = kernel.profile.waits.loads() + kernel.profile.waits.copy_waits > 0;
  return stores && loads ? kernel.device["l2_latency_cycles"] / 2 : 0;
}

}  // namespace

double turnaround_cycles(const KernelOnDevice& kernel) {
  const double each =
      kernel.device.find("block_turnaround_cycles").value_or(0) + store_cycles(kernel);
  return each * (1 - 1 / kernel.turns());
}

BlockWaits waits_of_block(const KernelOnDevice& kernel, const Traffic& traffic) {
  const KernelProfile& profile = kernel.profile;
  const DeviceSpec& device = kernel.device;
  const Waiting& waits = profile.waits;
  const double latency = load_latency(traffic, device);
  const double of_a_block = profile.blocks > 0 ? kernel.scale / profile.blocks : 0;
  return {
      of_a_block * (waits.loads() * latency + waits.shared_chain * device["shared_latency_cycles"] +
                    waits.remote() * device.find("dsm_latency_cycles").value_or(0)),
      of_a_block * std::max(waits.copy_waits * latency, multiply_add_cycles(waits, device)),
      store_cycles(kernel)};
}

// By Little's law: each resident warp waits once for every run of independent loads, and then for
// its multiply-adds, while asynchronous copies are under way. A block lasts as long as its slowest
// warp; blocks that do not fit at once take turns, and what leaves is not replaced at once.
LatencyTerm latency_term(const KernelOnDevice& kernel, const Traffic& traffic) {
  const KernelProfile& profile = kernel.profile;
  const DeviceSpec& device = kernel.device;
  const Waiting& waits = profile.waits;
  const double of_a_block = profile.blocks > 0 ? kernel.scale / profile.blocks : 0;
  const BlockWaits block = waits_of_block(kernel, traffic);
  const double turns = kernel.turns();
  LatencyTerm term;
  term.seconds = turns * (block.loads + block.beside + turnaround_cycles(kernel)) / kernel.clock;
  const double first = waits.loads() + waits.copy_waits > 0 ? load_latency(traffic, device) : 0;
  term.fill = (first + block.stores) / kernel.clock;
  term.queued = turns * (waits.loads() + waits.copy_waits) * of_a_block *
                (1 - traffic.l1_wait_fraction) * (1 - traffic.l2_wait_fraction) *
                device.find("dram_queue_cycles").value_or(0) / kernel.clock;
  return term;
}

// A load waits q u / (1 - u) longer where the memory is busy for a fraction u of the time, which
// longer waits make smaller: with T the time, w the waits of a warp by q each and b the busy time,
// T = waiting + w (b / T) / (1 - b / T), of which this is the larger root.
double loaded_seconds(const LatencyTerm& latency, double busy) {
  const double waiting = latency.seconds;
  const double together =
      (waiting + busy +
       std::sqrt((waiting - busy) * (waiting - busy) + 4 * latency.queued * busy)) /
      2;
  return std::max(together, busy > 0 ? latency.fill + busy : 0);
}

}  // namespace gpubench::model
