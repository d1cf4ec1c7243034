#include "harness/platform/model/time/time_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace gpubench::model {
namespace {

// The roof of dense matrix multiplications of this type.
std::string tensor_roof_of(Tensor type) {
  constexpr std::array<const char*, tensor_types> names = {"fp16", "bf16", "tf32",
                                                           "fp8",  "int8", "fp64"};
  return std::string("tensor_") + names[static_cast<std::size_t>(type)];
}

}  // namespace

Waiting& Waiting::operator+=(const Waiting& other) {
  load_groups += other.load_groups;
  load_chain += other.load_chain;
  shared_chain += other.shared_chain;
  copy_waits += other.copy_waits;
  fma_chain += other.fma_chain;
  fma_steps += other.fma_steps;
  return *this;
}

void Waiting::keep_longer(const Waiting& other) {
  load_groups = std::max(load_groups, other.load_groups);
  load_chain = std::max(load_chain, other.load_chain);
  shared_chain = std::max(shared_chain, other.shared_chain);
  copy_waits = std::max(copy_waits, other.copy_waits);
  fma_chain = std::max(fma_chain, other.fma_chain);
  fma_steps = std::max(fma_steps, other.fma_steps);
}

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
  // Local memory stays in L1 as far as that of all resident threads fits, and else comes from L2.
  const double local_words = profile.local_words * scale;
  const double local_resident = static_cast<double>(profile.local_bytes) *
                                profile.threads_per_block * result.occupancy.blocks_per_sm;
  const double local_beyond_l1 =
      local_resident > l1_bytes ? local_words * (1 - l1_bytes / local_resident) : 0;
  Traffic& traffic = result.traffic;
  double read_sectors = 0, waiting_sectors = 0, missed_sectors = 0, far_sectors = 0;
  double peer_reads = 0, peer_writes = 0;
  std::vector<Held> held;
  for (const FootprintSums& f : profile.footprints) held.push_back(residency(f));
  const std::vector<Reads> served =
      served_reads(profile.footprints, held,
                   {scale, profile.traced_blocks, std::min(sms, profile.blocks),
                    std::min<double>(result.occupancy.blocks_per_sm, blocks_on_fullest), l1_bytes,
                    profile.grid, std::ceil(profile.threads_per_block / double{warp_lanes})},
                   device);
  for (std::size_t i = 0; i < served.size(); ++i) {
    const FootprintSums& f = profile.footprints[i];
    const double resident = held[i].fraction;
    const Reads& reads = served[i];
    read_sectors += reads.leaving_l1;
    waiting_sectors += reads.waiting_beyond_l1;
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
  double l1_hit = 0;  // of what loads wait for
  if (const double asked = loads.sectors + counts.bulk_loads.sectors; asked > 0) {
    l1_hit = std::max(0.0, 1 - waiting_sectors / asked);
    traffic.l1_hit_fraction = std::max(0.0, 1 - read_sectors / asked);
    if (read_sectors > 0) {
      traffic.l2_hit_fraction = 1 - missed_sectors / read_sectors;
      const double hits = read_sectors - missed_sectors;
      traffic.l2_far_fraction = hits > 0 ? far_sectors / hits : 0;
    }
  }

  traffic.l2_sectors += local_beyond_l1 * line_bytes / sector_bytes;
  traffic.link_bytes = std::max(peer_reads, peer_writes);

  // --- terms ---
  const auto add = [&](const char* name, double seconds) {
    result.terms.push_back({name, seconds});
  };
  const auto seconds_of = [&](std::string_view name) {
    return std::ranges::find(result.terms, name, &Term::name)->seconds;
  };
  if (traffic.link_bytes > 0) {
    traffic.link_seconds = traffic.link_bytes / device["nvlink_bytes_per_second"];
  }
  // Once over the way there and back: of the first read, or of the last write, for whose arrival a
  // kernel's end waits. Neither is cached.
  if (profile.host_bytes_read + profile.host_bytes_written > 0) {
    const double crossing =
        scale * std::max(profile.host_bytes_read / device["pcie_h2d_bytes_per_second"],
                         profile.host_bytes_written / device["pcie_d2h_bytes_per_second"]);
    traffic.link_seconds =
        std::max(traffic.link_seconds, device["pcie_latency_seconds"] + crossing);
  }
  if (traffic.link_seconds > 0) add("link", traffic.link_seconds);
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
  // by the banks of shared memory, with its conflicts. A word of local memory is a line to a warp.
  const double requests = loads.requests + stores.requests + atomics.requests + local_words;
  const double tags = tag_banks * (loads.tag_wavefronts + stores.tag_wavefronts +
                                   atomics.tag_wavefronts + local_words);
  const double data = (loads.wavefronts + local_words) * line_bytes +
                      (stores.sectors + atomics.sectors) * sector_bytes;
  add("l1", sm_seconds(std::max({requests / device["global_requests_per_clock_per_sm"],
                                 tags / device["l1_tags_per_clock_per_sm"],
                                 data / device["l1_bytes_per_clock_per_sm"]})));
  double wavefronts = 0;
  for (const Access o : {Access::load, Access::store, Access::atomic}) {
    wavefronts += counts.at(Space::shared, o).wavefronts;
  }
  add("shared", sm_seconds(wavefronts * line_bytes / device["shared_bytes_per_clock_per_sm"]));
  // Only what the source names can be counted: a lower bound of the instructions issued.
  double instructions = profile.local_words * scale;
  for (const auto& [name, of_class] : instructions_of(counts)) instructions += of_class;
  add("issue", sm_seconds(instructions / device["warp_schedulers_per_sm"]));
  // A unit takes a warp's operation whole, however few of its lanes are active.
  const auto add_unit = [&](const char* name, double operations, double flops, const char* figure) {
    add(name, sm_seconds(flops * warp_lanes * operations / device[figure]));
  };
  add_unit("fp32", counts.issues(Arithmetic::fma_fp32), 2, "fp32_flops_per_clock_per_sm");
  add_unit("fp64", counts.issues(Arithmetic::fma_fp64), 2, "fp64_flops_per_clock_per_sm");
  add_unit("fp16x2", counts.issues(Arithmetic::fma_fp16x2), 4, "fp16x2_flops_per_clock_per_sm");
  add_unit("bf16x2", counts.issues(Arithmetic::fma_bf16x2), 4,
           device.find("bf16x2_flops_per_clock_per_sm") ? "bf16x2_flops_per_clock_per_sm"
                                                        : "fp16x2_flops_per_clock_per_sm");
  add_unit("int32", counts.issues(Arithmetic::mad_int32), 1, "int32_ops_per_clock_per_sm");
  // One unit, at a rate of its own for each type, and at a lower one for what is not asked of it by
  // its own generation's instruction.
  const double of_warps = device.find("mma_sync_efficiency").value_or(1);
  double tensor_cycles = 0, most_cycles = 0;
  std::string tensor_roof;  // of the type that it works at the longest
  for (std::size_t t = 0; t < tensor_types; ++t) {
    const auto type = static_cast<Tensor>(t);
    const double flops =
        counts.tensor_flops[t] / (type == Tensor::fp64 ? 1 : of_warps) + counts.warpgroup_flops[t];
    if (flops == 0) continue;
    const double cycles = flops / device[tensor_roof_of(type) + "_flops_per_clock_per_sm"];
    tensor_cycles += cycles;
    if (cycles > most_cycles) tensor_roof = tensor_roof_of(type);
    most_cycles = std::max(most_cycles, cycles);
  }
  add("tensor", sm_seconds(tensor_cycles));
  add_unit("sfu", counts.special, 1, "sfu_ops_per_clock_per_sm");

  // Latency, by Little's law: each resident warp waits once for every run of independent loads, and
  // gets through its multiply-adds no faster than its scheduler's share of the unit takes them, or
  // one a latency where they depend on each other; meanwhile asynchronous copies are under way. A
  // block lasts as long as its slowest warp; blocks that do not fit at once take turns, and what
  // leaves is not replaced at once.
  const double l2_hit = traffic.l2_hit_fraction;
  const double near_latency = device["l2_latency_cycles"];
  const double l2_latency =
      std::lerp(near_latency, device.find("l2_far_latency_cycles").value_or(near_latency),
                traffic.l2_far_fraction);
  const double latency =
      l1_hit * device["l1_latency_cycles"] +
      (1 - l1_hit) * (l2_hit * l2_latency + (1 - l2_hit) * device["dram_latency_cycles"]);
  const double of_a_block = profile.blocks > 0 ? scale / profile.blocks : 0;
  const double fma_cycles =
      2.0 * warp_lanes * device["warp_schedulers_per_sm"] / device["fp32_flops_per_clock_per_sm"];
  const double multiply_adds =
      std::max(profile.waits.fma_chain * device.find("fp32_latency_cycles").value_or(0),
               profile.waits.fma_steps * fma_cycles);
  const double beside = std::max(profile.waits.copy_waits * latency, multiply_adds);
  const double turns =
      std::max(1.0, blocks_on_fullest / std::max(1u, result.occupancy.blocks_per_sm));
  // The first block's start and the last one's end are in the launch.
  const double turnaround = (turns - 1) * device.find("block_turnaround_cycles").value_or(0);
  const double load_waits = std::max(profile.waits.load_groups, profile.waits.load_chain);
  const double of_loads =
      load_waits * latency + profile.waits.shared_chain * device["shared_latency_cycles"];
  const double waiting = (turns * (of_loads + beside) * of_a_block + turnaround) / clock;
  add("latency", waiting);
  const double launch = device["kernel_floor_seconds"];
  add("launch", launch);

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
  result.roof = largest->name == "tensor" ? tensor_roof : largest->name;
  // A load waits q u / (1 - u) longer where the memory is busy for a fraction u of the time, which
  // longer waits make smaller: with T the time, w the waits of a warp by q each and b the busy
  // time, T = waiting + w (b / T) / (1 - b / T), of which this is the larger root.
  const double busy = seconds_of("dram");
  const double waits = turns * (load_waits + profile.waits.copy_waits) * of_a_block * (1 - l1_hit) *
                       (1 - l2_hit) * device.find("dram_queue_cycles").value_or(0) / clock;
  const double loaded =
      (waiting + busy + std::sqrt((waiting - busy) * (waiting - busy) + 4 * waits * busy)) / 2;
  double unit = loaded;
  for (const Term& term : result.terms) {
    if (term.name != "launch") unit = std::max(unit, term.seconds);
  }
  // Starting and filling the machine and draining it cannot be hidden, whatever binds.
  result.seconds = launch + unit;
  add("queue", loaded - std::max(waiting, busy));
  for (const Term& term : result.terms) {
    // Waiting is no use of a unit.
    if (term.name == "latency" || term.name == "launch" || term.name == "queue") continue;
    result.utilisation = std::max(result.utilisation, term.seconds / result.seconds);
  }
  return result;
}

}  // namespace gpubench::model
