#include <algorithm>
#include <cmath>

#include "harness/platform/model/time/kernel_on_device.hpp"
#include "harness/platform/model/time/overlap.hpp"

namespace gpubench::model {
namespace {

// How long warps that a barrier lets go together stay in step, in cycles of work of their block.
// (Fitted: docs/model-accuracy.md.)
constexpr double in_step_cycles = 2048;
// What a barrier costs, beside the first access to shared memory after it, of which a store and
// the arithmetic before it are a part. (Fitted to reductions by a tree: docs/model-accuracy.md.)
constexpr double barrier_cycles = 60;

// What a block needs of its SM, in cycles: of each unit alone, one after the other; of the one that
// is needed the longest; and of that which its warps need the longest, without the copy engine.
struct Demands {
  double in_turn = 0, longest = 0, longest_of_warps = 0;
};

// Maxima have a unit of half as many lanes as the schedulers issue for (CUDA C++ Programming Guide,
// Arithmetic Instructions, compute capability 7.5 to 12.0); conversions are taken to share it.
double maxima_cycles(const KernelOnDevice& kernel) {
  constexpr double lanes_a_cycle = 64;
  const Counts& counts = kernel.counts;
  return warp_lanes * (counts.issues(Arithmetic::max_fp32) + counts.issues(Arithmetic::pack_16x2)) /
         lanes_a_cycle;
}

// Instructions that only their scheduler has work with: no unit of their own takes longer.
double arithmetic_cycles(const KernelOnDevice& kernel) {
  const Counts& counts = kernel.counts;
  const DeviceSpec& device = kernel.device;
  double issued = counts.special + counts.barriers, cycles = 0;
  for (const MultiplyAddUnit& u : multiply_add_units(device)) {
    issued += u.instructions(counts);
    cycles =
        std::max(cycles, u.operations * warp_lanes * u.instructions(counts) / device[u.figure]);
  }
  for (const WarpOperation kind :
       {WarpOperation::shuffle, WarpOperation::vote, WarpOperation::warp_barrier}) {
    issued += counts.at(kind);
  }
  return std::max(cycles, issued / device["warp_schedulers_per_sm"]);
}

// What copies bring and what products find loaded comes beside the arithmetic.
double awaited_share_of_shared(const Counts& counts) {
  const double wavefronts = counts.shared_wavefronts();
  constexpr double wavefronts_of_ldmatrix = 4;
  const double beside = counts.copied_wavefronts + wavefronts_of_ldmatrix * counts.fragments_ahead;
  return wavefronts > 0 ? std::max(0.0, 1 - beside / wavefronts) : 0;
}

// The copy engine stores line by line, and waits for none of the block's barriers.
double engines_share_of_shared(const Counts& counts) {
  const double wavefronts = counts.shared_wavefronts();
  return wavefronts > 0 ? std::min(1.0, counts.bulk_stores / wavefronts) : 0;
}

// The memory brings what copies ask for while a block computes, if it computes before it waits for
// them (Waiting::copy_waits). The copy engine's always are ahead.
double awaited_share_of_loads(const KernelOnDevice& kernel) {
  const AccessCounts& loads = kernel.global(Access::load);
  const double all = loads.sectors + kernel.counts.bulk_loads.sectors;
  if (all <= 0) return 1;
  const bool are_ahead = kernel.profile.waits.copy_waits > 0;
  const double copied =
      are_ahead && loads.requests > 0 ? kernel.counts.async_loads / loads.requests : 0;
  return (1 - copied) * loads.sectors / all;
}

Demands demands_of_block(const KernelOnDevice& kernel, const Traffic& traffic) {
  const double blocks = kernel.profile.blocks;
  const double in_block = kernel.clock / (kernel.share_of_fullest * blocks);  // cycles a second
  const double shared = shared_seconds(kernel, traffic) * in_block,
               l1 = l1_seconds(kernel, traffic) * in_block,
               sfu = kernel.unit_seconds(kernel.counts.special, 1, "sfu_ops_per_clock_per_sm") *
                     in_block,
               arithmetic = arithmetic_cycles(kernel) / blocks,
               maxima = maxima_cycles(kernel) / blocks;
  const TensorTerm tensor = tensor_term(kernel);
  Demands demands;
  demands.in_turn = arithmetic + maxima + awaited_share_of_shared(kernel.counts) * shared + l1 +
                    sfu + tensor.awaited_seconds * in_block;
  const double by_warps = std::max(
      {arithmetic, maxima, issue_seconds(kernel) * in_block, l1, sfu, tensor.seconds * in_block});
  demands.longest = std::max(by_warps, shared);
  demands.longest_of_warps =
      std::max(by_warps, (1 - engines_share_of_shared(kernel.counts)) * shared);
  return demands;
}

// The warps of a block that do its work. Beside warpgroups that multiply, others only ask for
// copies.
double working_warps(const KernelOnDevice& kernel) {
  const double awaiting = kernel.counts.awaiting_warps / kernel.profile.blocks;
  return awaiting > 0 ? awaiting : kernel.warps();
}

// A barrier of the grid takes so many times the latency of L2: blocks meet at a counter there,
// which each of them raises and then reads until it says that all have come. (Infatoshi/MegaQwen:
// 0.73 us on an RTX 3090, 82 blocks of 256 threads; less the block's own two barriers, at 250
// cycles each.)
constexpr double grid_barrier_l2_trips = 4.2;

double barrier_between_blocks_cycles(const KernelOnDevice& kernel, double of_a_block) {
  if (kernel.profile.cooperative) {
    return of_a_block + grid_barrier_l2_trips * kernel.device["l2_latency_cycles"];
  }
  return kernel.device.find("cluster_barrier_cycles").value_or(of_a_block);
}

// What barriers of the cluster, or of the grid, cost beyond those of a block.
double cluster_barriers_cycles(const KernelOnDevice& kernel) {
  if (kernel.counts.cluster_barriers == 0) return 0;
  const double barriers = kernel.counts.cluster_barriers / (kernel.profile.blocks * kernel.warps());
  const double of_a_block = barrier_cycles + kernel.device["shared_latency_cycles"];
  const double each = barrier_between_blocks_cycles(kernel, of_a_block);
  return barriers * std::max(each - of_a_block, 0.0);
}

// What all warps of a block wait for at the same time, in cycles: after each barrier the first
// load, and what they read of shared memory. Further loads of an interval overlap with other warps'
// work.
double waits_at_barriers(const KernelOnDevice& kernel, const Traffic& traffic, double barriers) {
  const KernelProfile& profile = kernel.profile;
  const double intervals = barriers + 1;
  const double groups = profile.waits.loads() * kernel.scale / profile.blocks;
  const double first = groups > intervals ? intervals / groups : 1;
  // A link of a chain through shared memory moves its wavefront, which the work has already.
  const double moved = profile.waits.shared_chain * kernel.scale / profile.blocks * line_bytes /
                       kernel.device["shared_bytes_per_clock_per_sm"];
  return std::max(waits_of_block(kernel, traffic).loads * first - moved, 0.0) +
         barriers * (barrier_cycles + kernel.device["shared_latency_cycles"]) +
         cluster_barriers_cycles(kernel);
}

// Until the first of its copies is there, a block asks for no unit. (One that waits for loads of
// its own has that in waits_at_barriers().)
double first_copy_cycles(const KernelOnDevice& kernel, const Traffic& traffic) {
  const Waiting& waits = kernel.profile.waits;
  return waits.copy_waits > 0 && waits.loads() == 0 ? load_latency(traffic, kernel.device) : 0;
}

}  // namespace

// Warps of a block begin each interval between barriers together, and ask for the same unit at the
// same time until they have drifted apart; other blocks use what they leave.
double phases_seconds(const KernelOnDevice& kernel, const Traffic& traffic) {
  const double blocks = kernel.profile.blocks, warps = kernel.warps();
  const double barriers = kernel.counts.barriers / (blocks * warps);
  if (barriers == 0) return 0;
  const Demands block = demands_of_block(kernel, traffic);
  const double interval = block.in_turn / (barriers + 1);
  const double warps_of_scheduler =
      std::max(1.0, working_warps(kernel) / kernel.device["warp_schedulers_per_sm"]);
  const double apart = 1 + (warps_of_scheduler - 1) * interval / (interval + in_step_cycles);
  const double work = overlapped(block.in_turn, block.longest_of_warps, apart);
  const double first = first_copy_cycles(kernel, traffic);
  const double alone = std::max(work, waits_of_block(kernel, traffic).beside - first) +
                       waits_at_barriers(kernel, traffic, barriers);
  // Meanwhile only other blocks keep the units busy.
  const double idle = first + turnaround_cycles(kernel);
  const double dram = awaited_share_of_loads(kernel) * dram_seconds(traffic, kernel.device) *
                      kernel.clock / kernel.blocks_on_fullest;
  const double at_once = kernel.blocks_at_once();
  const double of_a_block =
      std::max({overlapped(alone, block.longest, at_once),
                overlapped(work + dram, std::max(block.longest, dram), at_once),
                (std::max(alone, block.longest) + idle) / at_once});
  return kernel.blocks_on_fullest * of_a_block / kernel.clock;
}

}  // namespace gpubench::model
