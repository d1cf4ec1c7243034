#include "harness/model/time_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace gpubench::model {
namespace {

// The figure for dense matrix multiplications of this type.
std::string tensor_rate(Tensor type) {
  constexpr std::array<const char*, tensor_types> names = {"fp16", "bf16", "tf32",
                                                           "fp8",  "int8", "fp64"};
  return std::string("tensor_") + names[static_cast<std::size_t>(type)] + "_flops_per_clock_per_sm";
}

}  // namespace

Prediction predict(const KernelProfile& profile, const DeviceSpec& device,
                   const Residency& residency) {
  Prediction result;
  const double sms = device["sm_count"];
  const double clock = device["sm_clock_hz"];
  const double scale = profile.scale();
  const Counts counts = profile.counts.scaled(scale);
  result.occupancy =
      occupancy(device, {profile.threads_per_block, profile.shared_bytes, profile.registers});

  // The SM with the most blocks decides what an SM's own units need.
  const double blocks_on_fullest = std::ceil(profile.blocks / sms);
  const double share_of_fullest = blocks_on_fullest / profile.blocks;
  const auto sm_seconds = [&](double cycles) { return cycles * share_of_fullest / clock; };

  const AccessCounts& loads = counts.at(Space::global, Access::load);
  const AccessCounts& stores = counts.at(Space::global, Access::store);
  const AccessCounts& atomics = counts.at(Space::global, Access::atomic);

  // --- where global accesses are served ---
  const double l1_bytes =
      std::max(device["l1_bytes_per_sm"] -
                   static_cast<double>(profile.shared_bytes) * result.occupancy.blocks_per_sm,
               static_cast<double>(line_bytes));
  Traffic& traffic = result.traffic;
  double read_sectors = 0, missed_sectors = 0, far_sectors = 0, peer_reads = 0, peer_writes = 0;
  std::vector<Held> held;
  for (const FootprintSums& f : profile.footprints) held.push_back(residency(f));
  const std::vector<Reads> served =
      served_reads(profile.footprints, held,
                   {scale, profile.traced_blocks, std::min(sms, profile.blocks),
                    std::min<double>(result.occupancy.blocks_per_sm, blocks_on_fullest), l1_bytes},
                   device);
  for (std::size_t i = 0; i < served.size(); ++i) {
    const FootprintSums& f = profile.footprints[i];
    const double resident = held[i].fraction;
    const Reads& reads = served[i];
    read_sectors += reads.leaving_l1;
    missed_sectors += reads.l2_missed;
    far_sectors += reads.l2_far;
    if (f.device != profile.device) {  // what the peer's own memory does for it is left out
      peer_reads += sector_bytes * reads.leaving_l1;
      peer_writes += sector_bytes * static_cast<double>(f.write_requests) * scale;
      continue;
    }
    traffic.l2_sectors += reads.leaving_l1 + static_cast<double>(f.write_requests) * scale;
    traffic.dram_read_bytes += reads.dram_bytes;
    // What L2 still holds is overwritten in place. A sector written in part is first read.
    // Blocks may all write the same few sectors (a histogram's bins): no more than there are.
    const auto most = static_cast<double>(std::max(f.extent, f.write_distinct));
    const auto distinct = static_cast<double>(f.write_distinct);
    const double written = std::min(distinct * scale, most) * (1 - resident);
    const double in_part =
        distinct > 0 ? written * (1 - static_cast<double>(f.write_full) / distinct) : 0;
    traffic.dram_write_bytes += written * sector_bytes;
    traffic.dram_read_bytes += in_part * sector_bytes;
  }
  if (loads.sectors > 0) {
    traffic.l1_hit_fraction = std::max(0.0, 1 - read_sectors / loads.sectors);
    if (read_sectors > 0) {
      traffic.l2_hit_fraction = 1 - missed_sectors / read_sectors;
      const double hits = read_sectors - missed_sectors;
      traffic.l2_far_fraction = hits > 0 ? far_sectors / hits : 0;
    }
  }

  traffic.link_bytes = std::max(peer_reads, peer_writes);

  // --- terms ---
  const auto add = [&](const char* name, double seconds) {
    result.terms.push_back({name, seconds});
  };
  // Peers are reached over NVLink, the host's memory over PCIe.
  double link =
      std::max(sector_bytes * counts.host_read_sectors / device["pcie_h2d_bytes_per_second"],
               sector_bytes * counts.host_write_sectors / device["pcie_d2h_bytes_per_second"]);
  if (traffic.link_bytes > 0) link += traffic.link_bytes / device["nvlink_bytes_per_second"];
  if (link > 0) add("link", link);
  // Between reads alone, half of each, and writes alone: in a straight line.
  const double dram_bytes = traffic.dram_read_bytes + traffic.dram_write_bytes;
  const double writes = dram_bytes > 0 ? traffic.dram_write_bytes / dram_bytes : 0;
  const double mixed = device["dram_mixed_efficiency"];
  const double efficiency = writes < 0.5
                                ? std::lerp(device["dram_read_efficiency"], mixed, 2 * writes)
                                : std::lerp(mixed, device["dram_write_efficiency"], 2 * writes - 1);
  add("dram", dram_bytes / (device["dram_bytes_per_second"] * efficiency));
  add("l2", traffic.l2_sectors * sector_bytes / device["l2_bytes_per_second"]);
  // The L1 stage takes a request a cycle at best, looks tags up in banks, and moves data: for loads
  // by the banks of shared memory, with its conflicts.
  const double requests = loads.requests + stores.requests + atomics.requests;
  const double tags =
      tag_banks * (loads.tag_wavefronts + stores.tag_wavefronts + atomics.tag_wavefronts);
  const double data =
      loads.wavefronts * line_bytes + (stores.sectors + atomics.sectors) * sector_bytes;
  add("l1", sm_seconds(std::max({requests / device["global_requests_per_clock_per_sm"],
                                 tags / device["l1_tags_per_clock_per_sm"],
                                 data / device["l1_bytes_per_clock_per_sm"]})));
  double wavefronts = 0, shared_requests = 0;
  for (const Access o : {Access::load, Access::store, Access::atomic}) {
    wavefronts += counts.at(Space::shared, o).wavefronts;
    shared_requests += counts.at(Space::shared, o).requests;
  }
  add("shared", sm_seconds(wavefronts * line_bytes / device["shared_bytes_per_clock_per_sm"]));
  const double fma = counts.fma_fp32 + counts.fma_fp64 + counts.fma_fp16x2 + counts.fma_bf16x2 +
                     counts.mad_int32 + counts.special;
  // Only what the source names can be counted: a lower bound of the instructions issued. An
  // asynchronous copy is one, of two requests.
  add("issue", sm_seconds((requests + shared_requests + fma / warp_lanes + counts.barriers +
                           counts.warp_collectives - counts.async_copies) /
                          device["warp_schedulers_per_sm"]));
  add("fp32", sm_seconds(2 * counts.fma_fp32 / device["fp32_flops_per_clock_per_sm"]));
  add("fp64", sm_seconds(2 * counts.fma_fp64 / device["fp64_flops_per_clock_per_sm"]));
  add("fp16x2", sm_seconds(4 * counts.fma_fp16x2 / device["fp16x2_flops_per_clock_per_sm"]));
  add("bf16x2", sm_seconds(4 * counts.fma_bf16x2 /
                           device.find("bf16x2_flops_per_clock_per_sm")
                               .value_or(device["fp16x2_flops_per_clock_per_sm"])));
  add("int32", sm_seconds(counts.mad_int32 / device["int32_ops_per_clock_per_sm"]));
  // One unit, at a rate of its own for each type, and at a lower one for what is not asked of it by
  // its own generation's instruction.
  const double of_warps = device.find("tensor_mma_sync_fraction").value_or(1);
  double tensor_cycles = 0;
  for (std::size_t t = 0; t < tensor_types; ++t) {
    const double by_warps =
        counts.tensor_flops[t] / (static_cast<Tensor>(t) == Tensor::fp64 ? 1 : of_warps);
    const double flops = by_warps + counts.warpgroup_flops[t];
    if (flops > 0) tensor_cycles += flops / device[tensor_rate(static_cast<Tensor>(t))];
  }
  add("tensor", sm_seconds(tensor_cycles));
  add("sfu", sm_seconds(counts.special / device["sfu_ops_per_clock_per_sm"]));

  // Latency, by Little's law: each resident warp waits once for every run of independent loads, and
  // gets through its multiply-adds no faster than its scheduler's share of the unit takes them, or
  // one a latency where they depend on each other; blocks that do not fit at once take turns.
  const double l1_hit = traffic.l1_hit_fraction;
  const double l2_hit = traffic.l2_hit_fraction;
  const double near_latency = device["l2_latency_cycles"];
  const double l2_latency =
      std::lerp(near_latency, device.find("l2_far_latency_cycles").value_or(near_latency),
                traffic.l2_far_fraction);
  const double latency =
      l1_hit * device["l1_latency_cycles"] +
      (1 - l1_hit) * (l2_hit * l2_latency + (1 - l2_hit) * device["dram_latency_cycles"]);
  const double warps_per_block =
      std::ceil(static_cast<double>(profile.threads_per_block) / warp_lanes);
  const double of_a_warp = profile.blocks > 0 ? scale / (profile.blocks * warps_per_block) : 0;
  const double fma_cycles =
      2.0 * warp_lanes * device["warp_schedulers_per_sm"] / device["fp32_flops_per_clock_per_sm"];
  const double multiply_adds =
      std::max(profile.fma_chain * device.find("fp32_latency_cycles").value_or(0),
               profile.fma_steps * fma_cycles);
  const double turns =
      std::max(1.0, blocks_on_fullest / std::max(1u, result.occupancy.blocks_per_sm));
  const double loads_waited = std::max(profile.load_groups, profile.load_chain) * latency +
                              profile.shared_chain * device["shared_latency_cycles"];
  add("latency", turns * (loads_waited + multiply_adds) * of_a_warp / clock);
  add("launch", device["kernel_floor_seconds"]);

  const Term* largest = &result.terms.front();
  for (const Term& term : result.terms) {
    if (term.seconds > largest->seconds) largest = &term;
  }
  // A full arithmetic unit takes every issue slot too; it is the unit that binds then.
  if (largest->name == "issue") {
    for (const Term& term : result.terms) {
      const bool unit = term.name == "fp32" || term.name == "fp64" || term.name == "fp16x2" ||
                        term.name == "bf16x2";
      if (unit && term.seconds > 0.9 * largest->seconds) largest = &term;
    }
  }
  result.bound = largest->name;
  // Filling and draining the machine cannot be hidden: the first loads come back before anything
  // else happens.
  const double ramp =
      largest->name == "launch" || largest->name == "latency" ? 0 : device["kernel_floor_seconds"];
  result.seconds = largest->seconds + ramp;
  for (const Term& term : result.terms) {
    if (term.name == "latency" || term.name == "launch") continue;  // waiting is no use of a unit
    result.utilisation = std::max(result.utilisation, term.seconds / result.seconds);
  }
  return result;
}

}  // namespace gpubench::model
