// A kernel and the device that runs it: what every term of its time starts from.
#pragma once

#include <array>

#include "harness/platform/model/time/time_model.hpp"

namespace gpubench::model {

struct KernelOnDevice {
  KernelOnDevice(const KernelProfile& of, const DeviceSpec& on, double at_clock);

  double warps() const;           // of a block
  double blocks_at_once() const;  // on the SM with the most blocks
  double turns() const;           // that it takes them in

  // The SM with the most blocks decides what an SM's own units need.
  double sm_seconds(double cycles) const { return cycles * share_of_fullest / clock; }
  // The same of a unit that takes a warp's operation whole, however few of its lanes are active.
  double unit_seconds(double operations, double flops, const char* figure) const {
    return sm_seconds(flops * warp_lanes * operations / device[figure]);
  }
  const AccessCounts& global(Access kind) const { return counts.at(Space::global, kind); }

  const KernelProfile& profile;
  const DeviceSpec& device;
  Occupancy occupancy;
  double sms = 0;
  double clock = 0;
  double scale = 0;              // blocks of the grid for each traced one
  Counts counts;                 // of the whole grid, as what follows
  double local_words = 0;        // of local memory, 4 bytes per lane
  double blocks_on_fullest = 0;  // on the SM with the most blocks
  double share_of_fullest = 0;   // of the grid
  double l1_capacity = 0;        // bytes of an SM, what shared memory leaves of it
};

// Where its global accesses are served.
Traffic traffic_of(const KernelOnDevice& kernel, const L2Contents& contents);

// --- terms of throughput, in seconds ---
// A unit that multiplies and adds: what an instruction does for a lane, in the operations that the
// device's figure counts.
struct MultiplyAddUnit {
  const char* name;
  Arithmetic unit;
  double operations;
  const char* figure;
  // Additions of fp32 go through the unit as multiply-adds do.
  double instructions(const Counts& counts) const {
    const bool adds = unit == Arithmetic::fma_fp32;
    return counts.issues(unit) + (adds ? counts.issues(Arithmetic::add_fp32) : 0);
  }
};
std::array<MultiplyAddUnit, 5> multiply_add_units(const DeviceSpec& device);
double dram_seconds(const Traffic& traffic, const DeviceSpec& device);
double l1_seconds(const KernelOnDevice& kernel, const Traffic& traffic);
double shared_seconds(const KernelOnDevice& kernel, const Traffic& traffic);
double issue_seconds(const KernelOnDevice& kernel);
// What blocks of a cluster read and write of one another's shared memory.
double dsm_seconds(const KernelOnDevice& kernel);

struct TensorTerm {
  double seconds = 0;
  // The part that warps wait for: mma.sync, and wgmma beside which they compute nothing.
  double awaited_seconds = 0;
  std::string roof;  // of the type that the unit works at the longest
};
TensorTerm tensor_term(const KernelOnDevice& kernel);

// --- terms of latency ---
// What a block waits for, in cycles: its slowest warp's loads; what overlaps with its arithmetic:
// copies, and chains of multiply-adds; and, to give way to the next block, until what it has stored
// last has reached L2.
struct BlockWaits {
  double loads = 0, beside = 0, stores = 0;
};
BlockWaits waits_of_block(const KernelOnDevice& kernel, const Traffic& traffic);
// Until blocks have given way to the next ones, in cycles of each turn: the first one's start and
// the last one's end are in the launch.
double turnaround_cycles(const KernelOnDevice& kernel);
// The mean latency of a load, in cycles.
double load_latency(const Traffic& traffic, const DeviceSpec& device);

struct LatencyTerm {
  double seconds = 0;
  double fill = 0;    // from the start until the first load is back, and the last store's way
  double queued = 0;  // what a queue of one more latency at a busy memory adds, by its length
};
LatencyTerm latency_term(const KernelOnDevice& kernel, const Traffic& traffic);
// How long an SM is at its blocks where barriers keep their phases apart: no less than any unit
// needs. 0 of a kernel without barriers.
double phases_seconds(const KernelOnDevice& kernel, const Traffic& traffic);

// How long waiting and a memory that is busy for `busy` take together. It cannot be busy until the
// first load is back, nor while the last store is on its way.
double loaded_seconds(const LatencyTerm& latency, double busy);

}  // namespace gpubench::model
