#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/devices/cache_turns.hpp"
#include "harness/platform/model/time/kernel_on_device.hpp"
#include "harness/platform/model/time/switch_link.hpp"

namespace gpubench::model {
namespace {

// Sums over the allocations that a kernel reads and writes, in sectors.
struct Sums {
  double read = 0, missed = 0;
  double waiting = 0, waiting_for_dram = 0, waiting_for_far = 0;
  double peer_reads = 0, peer_writes = 0;  // bytes
  // Bytes that a GPU's link carries to and from the switch for accesses at multicast addresses.
  double to_switch = 0, from_switch = 0;
};

CachedGrid cached_grid(const KernelOnDevice& kernel) {
  const KernelProfile& profile = kernel.profile;
  return {kernel.scale,
          profile.traced_blocks,
          std::min(kernel.sms, profile.blocks),
          std::min<double>(kernel.occupancy.blocks_per_sm, kernel.blocks_on_fullest),
          kernel.l1_capacity,
          profile.grid,
          kernel.warps()};
}

// Spilled registers are written through to L2 and come back from there, whatever L1 has room for:
// an H100 takes 4 to 5 cycles of an SM for each word of a warp where all of them would fit, which
// is L2's rate, and 10 to 12 where those of all SMs exceed L2, which is DRAM's (registers and
// occupancy/registers, measured).
void add_local(const KernelOnDevice& kernel, Traffic& traffic) {
  const double bytes = kernel.local_words * line_bytes;
  traffic.l2_sectors += bytes / sector_bytes;
  const double resident = static_cast<double>(kernel.profile.local_bytes) *
                          kernel.profile.threads_per_block * kernel.occupancy.blocks_per_sm *
                          kernel.sms;
  const double missed = bytes * missed_in_turn(resident, kernel.device["l2_bytes"]);
  traffic.dram_read_bytes += missed / 2;  // a value that is spilled is loaded again
  traffic.dram_write_bytes += missed / 2;
}

double bytes_through_l1(const KernelOnDevice& kernel) {
  return (kernel.global(Access::load).wavefronts + kernel.local_words) * line_bytes +
         (kernel.global(Access::store).sectors + kernel.global(Access::atomic).sectors) *
             sector_bytes;
}

// L2 reads no less than so many bytes for a sector, and is held up by one that is written in part.
double idle_bytes_of_l2(const FootprintSums& f, const Reads& reads, double scale,
                        const DeviceSpec& device) {
  const auto requests = static_cast<double>(f.read_requests);
  const double alone = requests > 0 ? static_cast<double>(f.read_alone) / requests : 0;
  const auto beyond_sector = [&](const char* figure) {
    return device.find(figure).value_or(sector_bytes) - sector_bytes;
  };
  return reads.leaving_l1 * alone * beyond_sector("l2_fetch_bytes") +
         static_cast<double>(f.write_requests_in_part) * scale *
             beyond_sector("l2_partial_write_bytes");
}

// What one allocation of the device's own adds.
void add_own(const FootprintSums& f, const Reads& reads, double resident, double scale,
             const DeviceSpec& device, Traffic& traffic) {
  traffic.l2_sectors += reads.leaving_l1 + static_cast<double>(f.write_requests) * scale;
  traffic.l2_idle_bytes += idle_bytes_of_l2(f, reads, scale, device);
  traffic.dram_read_bytes += reads.dram_bytes;
  traffic.dram_idle_bytes += reads.dram_jumps * device.find("dram_jump_bytes").value_or(0);
  // What L2 still holds is overwritten in place. A sector written in part is first read, unless the
  // kernel loads it anyway.
  // Blocks may all write the same few sectors (a histogram's bins): no more than there are.
  const auto most = static_cast<double>(std::max(f.extent, f.write_distinct));
  const auto distinct = static_cast<double>(f.write_distinct);
  const double written = std::min(distinct * scale, most) * (1 - resident);
  const double in_part =
      distinct > 0 ? written * (1 - static_cast<double>(f.write_complete) / distinct) : 0;
  traffic.dram_write_bytes += written * sector_bytes;
  traffic.dram_read_bytes += in_part * sector_bytes;
}

void set_hits(const Sums& sums, double asked, Traffic& traffic) {
  if (asked <= 0) return;
  traffic.l1_wait_fraction = std::max(0.0, 1 - sums.waiting / asked);
  traffic.l1_hit_fraction = std::max(0.0, 1 - sums.read / asked);
  if (sums.read <= 0) return;
  traffic.l2_hit_fraction = 1 - sums.missed / sums.read;
  if (sums.waiting <= 0) return;
  traffic.l2_wait_fraction = 1 - sums.waiting_for_dram / sums.waiting;
  const double for_l2 = sums.waiting - sums.waiting_for_dram;
  traffic.l2_far_fraction = for_l2 > 0 ? sums.waiting_for_far / for_l2 : 0;
}

// What a sum over a team, or a store to it, moves over each link, if all of the team do as much at
// the same time: every GPU sends its part of everybody's sums, and gets its own sum; it sends what
// it stores once, and gets what everybody stores.
void add_multicast(const FootprintSums& f, double sums, double stores, Sums& to) {
  to.to_switch += sector_bytes * (f.team * sums + stores);
  to.from_switch += sector_bytes * (sums + f.team * stores);
}

// Over the links, to peers and to the host's memory. The latency of the latter is paid once, over
// the way there and back: of the first read, or of the last write, for whose arrival a kernel's end
// waits. Neither is cached.
double link_seconds(const KernelOnDevice& kernel, double peer_bytes, double switch_bytes) {
  const KernelProfile& profile = kernel.profile;
  const DeviceSpec& device = kernel.device;
  double seconds = 0;
  if (peer_bytes > 0) seconds = peer_bytes / device["nvlink_bytes_per_second"];
  if (switch_bytes > 0) seconds += switch_bytes / switch_link_bytes_per_second(device);
  if (profile.host_bytes_read + profile.host_bytes_written > 0) {
    const double crossing =
        kernel.scale * std::max(profile.host_bytes_read / device["pcie_h2d_bytes_per_second"],
                                profile.host_bytes_written / device["pcie_d2h_bytes_per_second"]);
    seconds = std::max(seconds, device["pcie_latency_seconds"] + crossing);
  }
  return seconds;
}

}  // namespace

Traffic traffic_of(const KernelOnDevice& kernel, const L2Contents& contents) {
  const KernelProfile& profile = kernel.profile;
  Traffic traffic;
  Sums sums;
  std::vector<Held> held;
  for (const FootprintSums& f : profile.footprints) held.push_back(contents(f));
  const std::vector<Reads> served =
      served_reads(profile.footprints, held, cached_grid(kernel), kernel.device);
  for (std::size_t i = 0; i < served.size(); ++i) {
    const FootprintSums& f = profile.footprints[i];
    const Reads& reads = served[i];
    sums.read += reads.leaving_l1;
    sums.waiting += reads.waiting_beyond_l1;
    sums.missed += reads.l2_missed;
    if (reads.leaving_l1 > 0) {
      const double for_each = reads.waiting_beyond_l1 / reads.leaving_l1;
      sums.waiting_for_dram += reads.l2_missed * for_each;
      sums.waiting_for_far += reads.l2_far * for_each;
    }
    const double stores = static_cast<double>(f.write_requests) * kernel.scale;
    if (f.team > 0) {
      add_multicast(f, reads.leaving_l1, stores, sums);
    } else if (f.device == profile.device) {
      add_own(f, reads, held[i].fraction, kernel.scale, kernel.device, traffic);
    } else {  // what the peer's own memory does for it is left out
      sums.peer_reads += sector_bytes * reads.leaving_l1;
      sums.peer_writes += sector_bytes * stores;
    }
  }
  set_hits(sums, kernel.global(Access::load).sectors + kernel.counts.bulk_loads.sectors, traffic);
  traffic.l1_bytes = bytes_through_l1(kernel);
  traffic.shared_bytes =
      (kernel.counts.shared_wavefronts() - kernel.counts.packed_wavefronts) * line_bytes;
  add_local(kernel, traffic);
  const double peer_bytes = std::max(sums.peer_reads, sums.peer_writes);
  const double switch_bytes = std::max(sums.to_switch, sums.from_switch);
  traffic.link_bytes = peer_bytes + switch_bytes;
  traffic.link_seconds = link_seconds(kernel, peer_bytes, switch_bytes);
  return traffic;
}

}  // namespace gpubench::model
