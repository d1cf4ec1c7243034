// Which of a kernel's reads the caches serve, on the whole grid, judged by what its traced blocks
// touched.
//
// Both caches are taken to replace at random, which is what makes their edges soft: a line that is
// swept over again after N others is still there with the probability h = exp(-(N/C)(1 - h)), where
// C is the capacity and 1 - h of the N are misses that each evict one line out of C; of lines that
// are picked at random it is C/N. Among popular lines, those leave first that were not asked
// for the longest (population.hpp). What one warp alone reads again, as a chase through pointers
// does, is taken to come in the same order each time, and is lost from L1 from a little before it
// is full until a little after. L2 may consist of partitions: an SM asks its own, which keeps
// copies of what belongs to the others, so that what all SMs read takes its place in each.
//
// Blocks that run at once are neighbours in the grid. What they share, they read at about the same
// time, so that it is in L2 for all but the first of them, however large the whole is; what is
// between two uses by different waves of blocks is a pass over the working set.
#pragma once

#include <array>
#include <compare>
#include <span>
#include <vector>

#include "harness/devices/device.hpp"
#include "harness/platform/model/emulator/footprint.hpp"

namespace gpubench::model {

// How L2 serves lines that are read again, fractions of 1.
struct L2Shares {
  double near = 0;  // by the partition of the SM that asks
  double far = 0;   // by another one
  double missed = 0;
};
L2Shares l2_shares(double hits_of_partition, double partitions);

// One allocation's reads, in sectors.
struct Reads {
  double leaving_l1 = 0;
  double waiting_beyond_l1 = 0;  // these, and what waits with them in their requests
  double l2_near = 0, l2_far = 0, l2_missed = 0;  // of those that left
  double dram_bytes = 0;
  double dram_jumps = 0;  // to places whose neighbours are not fetched
};

// The kernel whose reads are judged.
struct CachedGrid {
  double scale = 0;  // blocks of the grid for each traced one
  double traced_blocks = 0;
  double sms = 0;                         // with work
  double blocks_at_once = 0;              // on an SM
  double l1_bytes = 0;                    // of an SM, what shared memory leaves of it
  std::array<double, 3> extent{1, 1, 1};  // in blocks
  double warps = 1;                       // of a block

  // Neighbours in the grid that run at the same time, on all SMs.
  double wave() const { return sms * blocks_at_once; }
};

// How much of an allocation L2 holds before a kernel, 0 to 1, and how much of that the partition
// that is asked.
struct Held {
  double fraction = 0, near = 1;

  Held(double of_all, double of_held_near = 1) : fraction(of_all), near(of_held_near) {}
  auto operator<=>(const Held&) const = default;
};

// An entry for each footprint; `held` too.
std::vector<Reads> served_reads(std::span<const FootprintSums> footprints,
                                std::span<const Held> held, const CachedGrid& grid,
                                const DeviceSpec& device);

}  // namespace gpubench::model
